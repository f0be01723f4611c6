/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sliders.js - the page of sliders: asks for the same page while a slider moves
 *
 *      slider -> /whatif?share:B: B2=50 -> the answer of that page takes the place of this
 *
 * Without it the form does the same, with a button.
 */
(function () {
    "use strict";
    const WAIT_MS = 40;
    const form = document.getElementById("form");
    const answer = document.getElementById("answer");
    const error = document.getElementById("error");
    let running = null;     /* AbortController of the last question */
    let timer = 0;

    function query() {
        const parameters = new URLSearchParams();
        for (const [name, value] of new FormData(form)) {
            if (value.trim() !== "" && !(name.startsWith("share:") && value === "100")) {
                parameters.append(name, value);
            }
        }
        const text = parameters.toString();
        return text === "" ? "/whatif" : "/whatif?" + text;
    }

    async function ask() {
        running?.abort();
        running = new AbortController();
        try {
            const address = query();
            const response = await fetch(address, {signal: running.signal});
            const page = new DOMParser().parseFromString(await response.text(), "text/html");
            if (!response.ok) {
                throw new Error(page.getElementById("error")?.textContent || "the server answered " + response.status);
            }
            answer.replaceChildren(...page.getElementById("answer").childNodes);
            error.textContent = "";
            history.replaceState(null, "", address);
        } catch (failure) {
            if (failure.name !== "AbortError") {
                error.textContent = failure.message;
            }
        }
    }

    form.addEventListener("input", (event) => {
        const output = event.target.closest("tr")?.querySelector("output");
        if (output) {
            output.textContent = event.target.value + " %";
        }
        clearTimeout(timer);
        timer = setTimeout(ask, WAIT_MS);
    });
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        ask();
    });
}());
