/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page.js - puts the page together
 *
 *      data in the page (frozen), or of the server (live)
 *        -> Rows -> summaries, Latencies, Frames, Detail, Table, Falls
 *
 * The frozen page uses no network; nothing is stored. Each part is in a file of its
 * own, page_*.js, which come before this one; see tool/CMakeLists.txt.
 */
(function () {
    "use strict";
    const {byId, make, ms, signed, percent, counted} = Parts;
    const HEADLINES = 3;
    let model = null;

    function drawSummaries() {
        byId("title").textContent = document.title;
        byId("summaries").replaceChildren(...model.sides.map((at, s) => make("div", {class: "summary"},
            make("p", {}, model.isPair ? at.name + " " : "", make("b", {id: "mean-" + s, "data-ns": at.mean_latency_ns}, ms(at.mean_latency_ns)), " ms mean latency",
                model.isPair && s === 1 ? " (" + signed(model.root.inclusive.delta_ns) + ")" : ""),
            make("p", {class: "soft"}, counted(at.requests, "request") +
                (at.low_ns !== null ? ", 95 % interval " + (at.trusted === false ? "~" : "") + ms(at.low_ns) + " to " + ms(at.high_ns) + " ms" + (at.trusted === false ? " (" + at.why + ")" : "") : "") +
                (at.where.length > 0 ? " · " + at.where.join(", ") : "") +
                (at.forced_excluded > 0 ? " · " + at.forced_excluded + " forced left out" : "") +
                (at.fragments_excluded > 0 ? " · " + at.fragments_excluded + " fragments left out" : "") +
                (at.events_excluded > 0 ? " · " + at.events_excluded + " of event logs left out" : "") +
                (at.skipped > 0 ? " · " + at.skipped + " damaged skipped" : "")))));
        byId("footer").textContent = model.data.tool + " · " + [...new Set(model.sides.flatMap((at) => at.source))].join(", ");
    }

    /* The surest changes, to be opened with one click: largest first, those that only lost
       the path last. */
    function drawHeadline() {
        const real = model.named.filter(Rows.isReal)
            .sort((a, b) => a.lost_path - b.lost_path || Math.abs(b.self.delta_ns) - Math.abs(a.self.delta_ns));
        const chance = real.length > 0 ? [] : model.named.filter(Rows.isLeaning)
            .sort((a, b) => Math.abs(b.self.delta_ns) - Math.abs(a.self.delta_ns)).slice(0, 1);
        const button = (row) => make("button", {type: "button", class: "chip", onclick: () => Table.open(row)},
            Rows.markOf(row), Parts.cut(row.text, 40), " ", make("b", {}, signed(row.self.delta_ns)),
            " ms, q " + Parts.probability(row.q_value) + (row.lost_path ? ", lost" : ""));
        const words = (text) => make("span", {class: "soft"}, text);
        const parts = real.length > 0 ? [words("Changed most:"), ...real.slice(0, HEADLINES).map(button)]
            : [words("No stack changed measurably: none has q < " + Rows.NOISE + "."),
                ...chance.flatMap((row) => [words("Perhaps by chance:"), button(row)])];
        if (real.length > HEADLINES) {
            parts.push(words("and " + (real.length - HEADLINES) + " more below"));
        }
        byId("headline").hidden = !model.isPair;
        byId("headline").replaceChildren(...(model.isPair ? parts : []));
    }

    /* Marks what has the words of the search in its name. */
    function search() {
        const words = State.get("find").trim();
        if (byId("search").value.trim() !== words) {
            byId("search").value = words;
        }
        const found = words === "" ? null : Rows.search(model, words);
        if (!model.isFlat) {
            Frames.mark(found);
        }
        Table.mark(found);
        byId("found").textContent = found === null ? "" :
            counted(found.rows.size, model.isFlat ? "row" : "stack") + " found, with all below: " +
            model.sides.map((side, s) => (model.isPair ? side.name + " " : "") + ms(found.sums[s]) + " ms, " +
                percent(found.sums[s] / Math.max(1, Rows.inclusive(model.root, s)))).join("; ") +
            (model.leftCount > 0 ? "; " + model.leftCount + " smaller stacks have no names in this page, and were not searched" : "");
    }

    /* Shows @data; @latencies are sides with histograms of all latencies. */
    function show(data, latencies, isLive) {
        model = Rows.of(data);
        Detail.take(model);
        drawSummaries();
        drawHeadline();
        Latencies.show(latencies, isLive);
        Frames.show(model);
        Table.show(model);
        Falls.show(model);
        search();
    }

    function onSearchKey(event) {
        if (event.key === "Escape") {
            event.target.value = "";
            State.set({find: ""}, false);
            if (!model.isFlat) {
                Frames.focusBack();
            }
            event.stopPropagation();
        }
    }

    function onKey(event) {
        if (Parts.isTyping(event.target) || !Parts.isPlain(event) || model === null) {
            return;
        }
        if (event.key === "/") {
            byId("search").focus();
            event.preventDefault();
        } else if (event.key.toLowerCase() === "f") {
            Frames.flip();
        } else if (event.key === "Escape") {
            Frames.zoomOut();
        }
    }

    function start() {
        const data = JSON.parse(byId("data").textContent);
        Table.start();
        Latencies.start();
        byId("search").addEventListener("input", (event) => State.set({find: event.target.value}, false));
        byId("search").addEventListener("keydown", onSearchKey);
        byId("out").addEventListener("click", Frames.zoomOut);
        byId("flip").addEventListener("click", Frames.flip);
        document.addEventListener("keydown", onKey);
        State.listen((changed, hasAsked) => {
            if (model !== null && !hasAsked && changed.has("find")) {
                search();
            }
        });
        let width = window.innerWidth;
        addEventListener("resize", Parts.later(() => {
            if (window.innerWidth !== width && model !== null) {
                width = window.innerWidth;
                Frames.draw();
                Table.fill();
            }
        }, 150));
        if (data.live) {
            Ask.start(show);
        } else {
            show(data, data.sides, false);
        }
    }

    start();
}());
