/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* page_records.js - a list of the selected requests, and one of them (live page only) */
const Records = (function () {
    "use strict";
    const {byId, make, ms} = Parts;
    const PAGE = 20;
    let ask = null;             /* (path, parameters) -> answer */
    let offset = 0;
    let isPair = false;
    let turn = 0;

    const utc = (ns) => new Date(ns / 1e6).toISOString().replace("T", " ").replace("Z", "");
    const attributes = (record) => Object.entries(record.attributes || {}).map(([key, value]) => key + "=" + value);

    function row(record) {
        return make("tr", {class: "data"},
            make("td", {}, make("button", {type: "button", onclick: () => State.set({record: record.id}, true)}, utc(record.start_ns)),
                make("span", {class: "path"}, record.entry)),
            make("td", {}, ms(record.latency_ns)),
            make("td", {}, (record.error ? "✕ " : "") + record.status),
            make("td", {class: "soft wide", title: attributes(record).join("\n")}, attributes(record).join(" ")));
    }

    function drawList(records) {
        const move = (text, by, isOn) => make("button", {type: "button", disabled: !isOn, onclick: () => { offset += by; list(); }}, text);
        const side = isPair ? make("label", {}, "of ", make("select", {id: "records-side",
            onchange: (event) => State.set({side: event.target.value === "new" ? "" : event.target.value}, false)},
        ...["new", "base"].map((name) => make("option", {value: name, selected: (State.get("side") || "new") === name}, name)))) : null;
        byId("records").replaceChildren(
            make("div", {class: "bar"}, make("h3", {}, "Requests " + (records.length === 0 ? "" : offset + 1 + " to " + (offset + records.length))),
                make("div", {class: "tools"}, side, move("Earlier in the list", -PAGE, offset > 0), move("Further", PAGE, records.length === PAGE))),
            records.length === 0 ? make("p", {class: "soft"}, "There are no " + (offset > 0 ? "further " : "") + "requests.")
                : make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "requests"}, make("table", {class: "records"},
                    make("thead", {}, make("tr", {}, ...["start (UTC)", "latency ms", "status", "attributes"].map((name) => make("th", {scope: "col"}, name)))),
                    make("tbody", {}, ...records.map(row)))));
    }

    async function list() {
        const mine = ++turn;
        const parameters = State.asked();
        ["by", "mix"].forEach((key) => parameters.delete(key));
        parameters.set("limit", PAGE);
        parameters.set("offset", offset);
        if (isPair) {
            parameters.set("side", State.get("side") || "new");
        }
        try {
            const answer = await ask("records", parameters);
            if (mine === turn) {
                drawList(Array.isArray(answer) ? answer : answer.records || []);
            }
        } catch (error) {
            if (mine === turn) {
                byId("records").replaceChildren(make("p", {class: "error", role: "alert"}, error.message));
            }
        }
    }

    async function showOne() {
        const id = State.get("record");
        byId("record").hidden = id === "";
        if (id === "") {
            return;
        }
        try {
            const record = await ask("record", new URLSearchParams({id: id}));
            if (State.get("record") !== id) {
                return;
            }
            const facts = [["service", record.service], ["method", record.method], ["status", record.status],
                ["latency", ms(record.latency_ns) + " ms"], ["trace", record.trace_id || "–"],
                ...Object.entries(record.attributes || {}).map(([key, value]) => [key, String(value)])];
            byId("record").replaceChildren(
                make("div", {class: "bar"}, make("h3", {id: "record-title", tabindex: "-1"}, record.entry + " at " + utc(record.start_ns)),
                    make("button", {type: "button", onclick: () => State.set({record: ""}, true)}, "Close")),
                make("dl", {}, ...facts.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value)))),
                record.example ? Falls.draw(record.example, 0) : make("p", {class: "soft"}, "Its path cannot be drawn."));
            byId("record-title").focus({preventScroll: true});
            byId("record").scrollIntoView({block: "nearest"});
        } catch (error) {
            byId("record").replaceChildren(make("p", {class: "error", role: "alert"}, error.message));
        }
    }

    function start(asker) {
        ask = asker;
        byId("records").before(make("div", {id: "record", hidden: true}));
        State.listen((changed, hasAsked) => {
            if (changed.has("record")) {
                showOne();
            }
            if (changed.has("side") && !hasAsked) {
                offset = 0;
                list();
            }
        });
    }

    function show(hasTwo, isNew) {
        isPair = hasTwo;
        offset = isNew ? 0 : offset;
        list();
    }

    return {start, show, showOne};
}());
