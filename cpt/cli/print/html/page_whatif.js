/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_whatif.js - sliders: other times of frames, and what the latency would be
 *
 *      sliders -> /api/whatif?set=FRAME=70% -> mean, p50, p99 of the kept graphs
 *
 * Only the live page has them, and only if its server has graphs.
 */
const WhatIf = (function () {
    "use strict";
    const {byId, make, ms, signed, counted} = Parts;
    const SLIDERS = 12;
    const WAIT_MS = 60;
    const shares = new Map();   /* frame -> percent, without 100 */
    let running = null;         /* AbortController of the last question */

    async function ask() {
        const parameters = new URLSearchParams();
        shares.forEach((share, frame) => parameters.append("set", frame + "=" + share + "%"));
        running?.abort();
        running = new AbortController();
        const response = await fetch("/api/whatif?" + parameters, {signal: running.signal});
        const answer = await response.json();
        if (!response.ok) {
            throw new Error(answer.error || "the server answered " + response.status);
        }
        return answer;
    }

    function drawAnswer(answer) {
        const cell = (row) => make("td", {}, ms(row.after_ns), " ",
            make("span", {class: "soft"}, "(" + signed(row.change_ns) + ")"));
        const range = (row) => make("td", {class: "soft"}, row.low_ns === null || shares.size === 0 ? "" :
            signed(row.low_ns) + " to " + signed(row.high_ns));
        const keys = ["mean", "p50", "p99"];
        const rows = keys.map((key) => answer.latency[key]);
        byId("whatif-answer").replaceChildren(
            make("table", {}, make("thead", {}, make("tr", {}, ...keys.map((key) => make("th", {}, key + " ms")))),
                make("tbody", {}, make("tr", {}, ...rows.map(cell)), make("tr", {}, ...rows.map(range)))),
            make("p", {class: "soft"}, counted(answer.requests, "request") +
                " of which all is known; below are the 95 % intervals of the changes, which are paired"));
    }

    const update = Parts.later(async () => {
        try {
            drawAnswer(await ask());
            byId("whatif-error").textContent = "";
        } catch (error) {
            if (error.name !== "AbortError") {
                byId("whatif-error").textContent = error.message;
            }
        }
    }, WAIT_MS);

    function slider(row) {
        const text = make("output", {}, "100 %");
        const input = make("input", {type: "range", min: 0, max: 200, step: 5, value: 100, "aria-label": "time of " + row.name,
            oninput: (event) => {
                const share = Number(event.target.value);
                text.textContent = share + " %";
                if (share === 100) {
                    shares.delete(row.name);
                } else {
                    shares.set(row.name, share);
                }
                update();
            }});
        return make("label", {class: "slider"}, make("span", {title: row.name}, Parts.cut(row.name, 40)),
            make("span", {class: "soft"}, ms(row.before_ns) + " ms"), input, text);
    }

    async function start() {
        let answer = null;
        try {
            answer = await ask();
        } catch (error) {
            return;
        }
        if (answer.requests === 0) {
            return;
        }
        const reset = () => {
            shares.clear();
            byId("whatif-sliders").replaceChildren(...answer.frames.slice(0, SLIDERS).map(slider));
            update();
        };
        byId("whatif-reset").addEventListener("click", reset);
        reset();
        byId("whatif-page").setAttribute("href", "/whatif");
        byId("whatif").hidden = false;
    }

    return {start};
}());
