/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_ask.js - what the live page asks its server; the frozen page has nothing to ask
 *
 *      State (the address) -> /api/view -> data as in the frozen page -> show()
 *
 * /api/summary is polled: when its revision changes, the view is asked for again, and
 * drawn where the reader stands. An error is shown at the box that it is about.
 */
const Ask = (function () {
    "use strict";
    const {byId, make, counted} = Parts;
    const POLL_MS = 2000;
    const SLOW_POLL_MS = 15000;
    const PATIENCE = 5;         /* pause after a view, in times of what it took */
    let show = null;            /* (data, latencies, isLive) */
    let isOn = false;
    let summary = null;
    let shownRevision = -1;
    let running = null;         /* AbortController of the view */

    class Refusal extends Error {}

    async function ask(path, parameters, signal) {
        const response = await fetch("/api/" + path + State.withToken(parameters), {signal: signal});
        const answer = await response.json();
        if (!response.ok) {
            throw new Refusal((answer.error || "the server answered " + response.status) + (answer.detail ? "\n" + answer.detail : ""));
        }
        return answer;
    }

    const complete = (text) => ask("complete", new URLSearchParams({text: text}));

    /* Some requests that @where selects; of the first entry if there are several. */
    const someRecords = (where) => {
        const asked = parameters();
        ["base", "new", "where", "min_ns", "max_ns", "stack", "by", "mix"].forEach((key) => asked.delete(key));
        if (where) {
            asked.set("where", where);
        }
        asked.set("limit", 200);
        return ask("records", asked);
    };

    /* --- Errors --- */

    const BOX_OF = {where: "where", base: "base", new: "new", entry: "where", since: "from", until: "to", from: "from", to: "to", stack: "where", mix: "mix"};

    function complain(sentence) {
        const found = /(?:option|parameter) '(?:--)?(\w+)'/.exec(sentence) || /: '(base|new)' is missing/.exec(sentence) || /for (base|new),/.exec(sentence);
        const quoting = ["new", "base", "where", "from", "to", "mix"].find((at) => State.get(at) !== "" && sentence.includes(State.get(at)));
        const key = found ? BOX_OF[found[1]] : quoting;
        const isAtBox = Boxes.complain(key || "", sentence.trim());
        byId("ask-error").textContent = isAtBox ? "" : sentence;
        byId("ask-error").hidden = isAtBox || sentence === "";
        if (isAtBox && ["from", "to", "mix"].includes(key)) {
            byId("ask-more").open = true;
        }
    }

    /* --- The view --- */

    function parameters() {
        const asked = State.asked();
        if (!asked.has("base")) { /* of one set there is no other mix */
            asked.delete("mix");
        }
        if (!asked.has("entry") && summary && summary.entries.length > 1) {
            asked.set("entry", summary.entries[0].text);
        }
        return asked;
    }

    /* The sides with the histogram of all latencies, also those out of the range. */
    async function latenciesOf(data, asked, signal) {
        if (!asked.has("min_ns") && !asked.has("max_ns")) {
            return data.sides;
        }
        const whole = new URLSearchParams(asked);
        ["min_ns", "max_ns", "by", "mix"].forEach((key) => whole.delete(key));
        return (await ask("view", whole, signal)).sides;
    }

    const isBusy = (is) => {
        byId("ask").setAttribute("aria-busy", String(is));
        document.body.classList.toggle("busy", is);
    };

    async function refresh(isGentle) {
        const asked = parameters();
        if (asked.has("base") !== asked.has("new")) {
            complain("parameter '" + (asked.has("base") ? "new" : "base") + "': base and new are compared, so give both");
            return;
        }
        if (running) {
            running.abort();
        }
        running = new AbortController();
        const {signal} = running;
        const revision = summary ? summary.revision : 0;
        isBusy(true);
        try {
            const data = await ask("view", asked, signal);
            const latencies = await latenciesOf(data, asked, signal);
            const isNode = document.activeElement && document.activeElement.classList.contains("node");
            complain("");
            document.title = titleOf(asked);
            show(data, latencies, true);
            drawNotes(data.notes || []);
            shownRevision = revision;
            Records.show(data.sides.length === 2, !isGentle);
            if (isNode) {
                Frames.focusBack();
            }
            isBusy(false);
        } catch (error) {
            if (error.name !== "AbortError") {
                isBusy(false);
                complain(error instanceof Refusal ? error.message : "The server does not answer: " + error.message);
            }
        }
    }

    /* What the tool said while it read: records skipped, torn files, duplicates. */
    function drawNotes(notes) {
        byId("ask-notes").hidden = notes.length === 0;
        byId("ask-notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
    }

    function titleOf(asked) {
        const parts = ["entry", "where", "stack"].map((key) => asked.get(key)).filter(Boolean);
        return (parts.join(", ") || "All requests") + (asked.has("base") ? ": " + asked.get("base") + " → " + asked.get("new") : "");
    }

    /* --- The server's state --- */

    function drawSummary() {
        const utc = (ns) => new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ");
        const text = summary.reading || (summary.records === 0 && summary.revision === 0) ? "The logs are being read …"
            : counted(summary.records, "record") + (summary.records > 0 ? " from " + utc(summary.first_ns) + " to " + utc(summary.last_ns) + " UTC" : "") +
                (summary.followed ? ", followed" : "") + " · " + summary.sources.slice(0, 3).join(", ") +
                (summary.sources.length > 3 ? " and " + (summary.sources.length - 3) + " more" : "");
        if (byId("ask-status").textContent !== text) { /* a screen reader reads each change */
            byId("ask-status").textContent = text;
        }
        const select = byId("box-entry");
        const wanted = ["", ...summary.entries.map((entry) => entry.text)].join("\n");
        if (select.dataset.texts !== wanted) {
            select.dataset.texts = wanted;
            select.replaceChildren(...summary.entries.map((entry) => make("option", {value: entry.text}, entry.text + " (" + entry.count + ")")));
        }
        byId("entry-box").hidden = summary.entries.length < 2;
        byId("whatif").hidden = summary.graphs === 0;
        byId("whatif-page").setAttribute("href", "/whatif" + State.withToken());
        byId("whatif-text").textContent = counted(summary.graphs, "request") + " of which all is known";
        readSelects();
    }

    async function poll() {
        let delay = SLOW_POLL_MS;
        try {
            const next = await ask("summary");
            const isFirst = summary === null;
            const hadRecords = summary !== null && summary.records > 0;
            summary = next;
            byId("ask-lost").hidden = true;
            drawSummary();
            delay = next.followed || next.reading || next.records === 0 ? POLL_MS : SLOW_POLL_MS;
            const begin = performance.now();
            if (next.records > 0 && !hadRecords) {
                Suggestions.show(complete, someRecords).then(readSelects);
                Records.showOne();
                await refresh(!isFirst);
            } else if (next.records > 0 && next.revision !== shownRevision && shownRevision >= 0 && !Boxes.isBusy() && !document.hidden && !Latencies.isDragging()) {
                await refresh(true);
            }
            delay = Math.max(delay, PATIENCE * (performance.now() - begin)); /* long views are drawn more rarely */
        } catch (error) {
            byId("ask-lost").hidden = false;
        }
        setTimeout(poll, delay);
    }

    /* --- The form --- */

    function readSelects() {
        byId("box-by").value = State.get("by") || "stack";
        byId("box-entry").value = State.get("entry") || (summary && summary.entries[0] ? summary.entries[0].text : "");
        const reset = byId("all-requests");
        if (reset) {
            reset.hidden = State.get("base") === "" && State.get("new") === "";
        }
        byId("swap").hidden = State.get("base") === "" || State.get("new") === "";
        const stack = State.get("stack");
        byId("with-stack").hidden = stack === "";
        byId("with-stack").textContent = "Only requests with " + Parts.cut(stack, 60) + " ✕";
        byId("with-stack").title = stack;
    }

    function select(key, label, options) {
        return make("div", {class: "box", id: key + "-box"}, make("label", {for: "box-" + key}, label),
            make("select", {id: "box-" + key, onchange: (event) => State.set({[key]: event.target.value === "stack" ? "" : event.target.value, zoom: ""}, true)},
                ...options.map((option) => make("option", {value: option}, option))));
    }

    function drawForm() {
        byId("ask").hidden = false;
        byId("ask").replaceChildren(
            make("h2", {id: "ask-title"}, "Which requests"),
            make("p", {id: "ask-status", class: "soft", role: "status"}, "Asking the server …"),
            make("div", {id: "suggestions", role: "group", "aria-label": "suggestions"}),
            make("form", {id: "boxes", onsubmit: (event) => event.preventDefault()},
                Boxes.box("where", "Requests", "all; or region=eu, latency > 50ms …", complete),
                Boxes.box("base", "Base", "to compare: arm=control", complete),
                Boxes.box("new", "New", "arm=treatment", complete),
                select("by", "Rows", ["stack", "service", "name", "edge"])),
            make("div", {class: "chips"}, make("details", {id: "ask-more"}, make("summary", {}, "Window of time, mix, entry"), make("div", {class: "boxes"},
                Boxes.box("from", "From", "15m, or 2026-01-31T12:00:00Z", null),
                Boxes.box("to", "To", "", null),
                Boxes.box("mix", "Compare at equal mix of", "an attribute: page", null),
                select("entry", "Entry service", []))),
            make("button", {type: "button", id: "swap", class: "chip", hidden: true,
                onclick: () => State.set({base: State.get("new"), new: State.get("base")}, true)}, "Swap base and new"),
            make("button", {type: "button", id: "with-stack", class: "chip", hidden: true, onclick: () => State.set({stack: ""}, true)})),
            make("p", {id: "ask-error", class: "error", role: "alert", hidden: true}),
            make("ul", {id: "ask-notes", class: "soft", role: "status", "aria-label": "messages of the reading", hidden: true}),
            make("p", {id: "ask-lost", class: "error", role: "status", hidden: true}, "The server does not answer; the page asks again."));
    }

    function start(shower) {
        show = shower;
        isOn = true;
        drawForm();
        Records.start(ask);
        State.listen((changed, hasAsked) => {
            Boxes.read();
            readSelects();
            if (hasAsked) {
                refresh(false);
            }
        });
        poll();
    }

    /* What can be asked about @row, as buttons. */
    function actionsOf(row) {
        if (!isOn || !row.up || row.isGroup || row.isRest) {
            return [];
        }
        const stack = Rows.stackOf(row).map((at) => at.text).join(";");
        return [make("p", {}, make("button", {type: "button", class: "chip",
            onclick: () => State.set({stack: stack}, true)}, "Only requests with this stack"))];
    }

    return {start, actionsOf};
}());
