/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_table.js - all stacks as a table that can be sorted
 *
 * It may have a hundred thousand rows, so only those that can be seen are elements:
 *
 *      scroller   [ empty row of the height of what is above ]
 *                 [ the rows in the window, and a few more   ]   rows have one height
 *                 [ empty row of the height of what is below ]
 *
 * aria-rowcount and aria-rowindex say the truth to a screen reader, and the arrow keys
 * move from row to row.
 */
const Table = (function () {
    "use strict";
    const {byId, make, ms, signed, percent, probability, cut, isKnown} = Parts;
    const {inclusive, self} = Rows;
    const FIRST_ROWS = 12;      /* shown if none is significant or large */
    const FEW_ROWS = 30;        /* all are shown */
    const MARGIN = 12;          /* rows beyond the window */

    let model = null;
    let columns = [];
    let list = [];              /* the rows in their order */
    let found = null;
    let hidden = 0;

    const side = (row, s) => row.sides[s] || null;
    const cell = (text, classes) => make("td", {class: classes || null}, text);
    const of = (row, s, field) => (side(row, s) && isKnown(side(row, s)[field]) ? side(row, s)[field] : -1);
    const delta = (row) => (row.self ? row.self.delta_ns : 0);

    function changeClass(row) {
        return Rows.isReal(row) ? "is-" + Rows.turnOf(row) : "soft";
    }

    const distribution = {name: "distribution", width: 8.5, show: (row) => make("td", {},
        row.isBrief ? "–" : Detail.histogram(row, 96, 18))};

    /* by: a larger value comes first, unless `rises`. */
    const singleColumns = [
        {key: "self", name: "self ms", width: 6.5, by: (row) => self(row, 0), show: (row) => cell(ms(self(row, 0)))},
        {key: "size", name: "incl ms", width: 6.5, by: (row) => inclusive(row, 0), show: (row) => cell(ms(inclusive(row, 0)))},
        {name: "share", width: 5, show: (row) => cell(percent(inclusive(row, 0) / Math.max(1, inclusive(model.root, 0))))},
        {name: "95 % interval", width: 12,
            show: (row) => cell(side(row, 0) && isKnown(side(row, 0).low_ns) ? (Rows.doubt(row) !== "" ? "~" : "") + ms(side(row, 0).low_ns) + " – " + ms(side(row, 0).high_ns) : "–", "soft")},
        {key: "presence", name: "presence", width: 7, by: (row) => of(row, 0, "presence"),
            show: (row) => cell(row.isBrief || !side(row, 0) ? "–" : side(row, 0).presence.toFixed(3))},
        {key: "present", name: "when present", width: 9, by: (row) => of(row, 0, "present_mean_ns"),
            show: (row) => cell(side(row, 0) ? ms(side(row, 0).present_mean_ns) : "–")},
        {key: "p50", name: "p50", width: 6, by: (row) => of(row, 0, "p50_ns"), show: (row) => cell(side(row, 0) ? ms(side(row, 0).p50_ns) : "–")},
        {key: "p99", name: "p99", width: 6, by: (row) => of(row, 0, "p99_ns"), show: (row) => cell(side(row, 0) ? ms(side(row, 0).p99_ns) : "–")},
        distribution,
    ];
    const pairColumns = [
        {key: "size", name: "diff ms", width: 6.5, by: (row) => Math.abs(delta(row)),
            show: (row) => cell(Rows.markOf(row) + signed(delta(row)), changeClass(row))},
        {key: "q", name: "q", width: 6, rises: true, by: (row) => (isKnown(row.q_value) ? row.q_value : 2),
            show: (row) => cell(probability(row.q_value), Rows.isReal(row) ? null : "soft")},
        {name: "95 % interval", width: 12.5,
            show: (row) => cell(row.self ? (Rows.doubt(row) !== "" ? "~" : "") + signed(row.self.low_ns) + " to " + signed(row.self.high_ns) : "–", "soft")},
        {key: "base", name: "base ms", width: 6.5, by: (row) => self(row, 0), show: (row) => cell(ms(self(row, 0)))},
        {key: "new", name: "new ms", width: 6.5, by: (row) => self(row, 1), show: (row) => cell(ms(self(row, 1)))},
        {name: "cause", width: 5, show: (row) => cell(causeOf(row))},
        {key: "presence", name: "presence", width: 8, by: (row) => of(row, 1, "presence"),
            show: (row) => cell(row.isBrief ? "–" : Detail.perSide(row, (at) => at.presence.toFixed(2)))},
        {key: "present", name: "when present", width: 10, by: (row) => of(row, 1, "present_mean_ns"),
            show: (row) => cell(row.isBrief ? "–" : Detail.perSide(row, (at) => ms(at.present_mean_ns)))},
        distribution,
    ];
    const withBelow = {key: "below", name: "with below", width: 7.5, by: (row) => Math.abs(row.inclusive ? row.inclusive.delta_ns : 0),
        show: (row) => cell(row.inclusive ? signed(row.inclusive.delta_ns) : "–")};

    /* The words of the column "cause" of cpt diff. */
    function causeOf(row) {
        if (row.lost_path) {
            return "lost";
        }
        if (!isKnown(row.q_value) || !(row.q_value < Rows.SIGNIFICANT) || !isKnown(row.size_ns)) {
            return "–";
        }
        const often = Math.abs(row.frequency_ns);
        const long = Math.abs(row.size_ns);
        return often > 2 * long ? "freq" : long > 2 * often ? "size" : "both";
    }

    /* --- Order --- */

    /* {column, isTree, isTurned} of State's "sort": a key, with "-" for the other way. */
    function orderOf() {
        const text = State.get("sort");
        const key = text.replace(/^-/, "");
        const column = columns.find((at) => at.key !== undefined && at.key === key) || null;
        const isName = key === "name";
        return {column: column || (model.isPair && !isName ? columns[0] : null), isTurned: text.startsWith("-"),
            isName: isName, isTree: column === null && !isName && !model.isPair};
    }

    function sorted(rows, order) {
        const sign = order.isTurned ? -1 : 1;
        if (order.isName) {
            return [...rows].sort((a, b) => sign * (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
        }
        if (order.column === null) {
            return rows;
        }
        const {by, rises} = order.column;
        /* equal ones by size: of many with q 0, the largest first */
        const size = model.isPair ? (row) => Math.abs(delta(row)) : model.larger;
        return [...rows].map((row) => [by(row), size(row), row])
            .sort((a, b) => sign * (rises ? a[0] - b[0] : b[0] - a[0]) || b[1] - a[1]).map((entry) => entry[2]);
    }

    function choose() {
        const order = orderOf();
        const rows = sorted(found === null ? model.named : model.named.filter((row) => found.rows.has(row)), order);
        if (State.get("all") !== "" || found !== null || rows.length <= FEW_ROWS) {
            list = rows;
        } else {
            const kept = new Set(rows.filter((row) => Rows.isLarge(model, row)));
            if (kept.size === 0) {
                rows.slice(0, FIRST_ROWS).forEach((row) => kept.add(row));
            }
            if (order.isTree) { /* a row needs what is above it */
                [...kept].forEach((row) => Rows.stackOf(row).forEach((at) => kept.add(at)));
            }
            list = rows.filter((row) => kept.has(row));
        }
        hidden = rows.length - list.length;
    }

    /* --- Drawing --- */

    function sortBy(key) {
        const before = State.get("sort") || (model.isPair ? "size" : "");
        State.set({sort: before === key ? "-" + key : key}, false);
    }

    function headings() {
        const order = orderOf();
        const heading = (name, key, isSorted, rises) => make("th", {scope: "col", role: "columnheader",
            "aria-sort": isSorted ? (order.isTurned === Boolean(rises) ? "descending" : "ascending") : null},
        key ? make("button", {type: "button", "data-sort": key, onclick: () => sortBy(key)}, name) : name);
        return make("tr", {role: "row", "aria-rowindex": 1}, heading("frame", "name", order.isName, true),
            ...columns.map((column) => heading(column.name, column.key, order.column === column, column.rises)));
    }

    function tableRow(row, index) {
        const isTree = orderOf().isTree && found === null;
        const isNarrow = byId("table").clientWidth < 700;
        const path = Rows.stackOf(row).slice(0, -1).map((at) => at.text).join(" › ");
        const length = isNarrow ? 22 : 64;
        const name = isTree ? Parts.nameBelow(row) : row.text;
        const frame = make("td", {title: Rows.stackOf(row).map((at) => at.text).join("\n")},
            make("button", {type: "button", "data-index": index, onclick: () => open(row)}, cut(name, length)),
            isTree || model.isFlat ? null : make("span", {class: "path"}, cut(path, isNarrow ? 26 : 84)));
        if (isTree) {
            frame.style.paddingLeft = 10 + (isNarrow ? 5 : 14) * Math.min(row.depth - 1, 14) + "px";
        }
        return make("tr", {role: "row", "aria-rowindex": index + 2, class: "data"}, frame, ...columns.map((column) => column.show(row)));
    }

    function open(row) {
        if (model.isFlat) {
            Detail.show(row);
            byId("detail").scrollIntoView({block: "nearest"});
            return;
        }
        Frames.zoomTo(row, side(row, Frames.side()) || !model.isPair ? Frames.side() : 1 - Frames.side());
        byId("icicles").scrollIntoView({block: "nearest"});
    }

    function footings() {
        const by = model.isPair ? {"base ms": 0, "new ms": 1} : {"self ms": 0};
        return make("tr", {role: "row", "aria-rowindex": list.length + 2}, make("td", {}, "sum of all = mean latency"),
            ...columns.map((column) => {
                const s = by[column.name];
                const total = cell(s !== undefined ? ms(model.sums[s]) :
                    column.name === "diff ms" ? signed(model.root.inclusive.delta_ns) : "");
                if (s !== undefined) {
                    total.id = "sum-" + s;
                    total.dataset.ns = model.sums[s];
                }
                return total;
            }));
    }

    const rowHeight = () => Number.parseFloat(getComputedStyle(byId("table")).getPropertyValue("--line-height")) || 44;
    const gap = (rows) => make("tr", {class: "gap", "aria-hidden": "true", "--gap": rows * rowHeight() + "px"},
        make("td", {colspan: columns.length + 1}));

    /* Makes the rows that can be seen. */
    function fill() {
        const scroller = byId("scroller");
        const height = rowHeight();
        const seen = Math.ceil((scroller.clientHeight || 600) / height);
        const first = Math.max(0, Math.min(Math.floor(scroller.scrollTop / height) - MARGIN, list.length - seen - MARGIN));
        const last = Math.min(list.length, first + seen + 2 * MARGIN);
        const active = document.activeElement && document.activeElement.dataset.index;
        byId("rows").replaceChildren(...(first > 0 ? [gap(first)] : []),
            ...list.slice(first, last).map((row, i) => tableRow(row, first + i)),
            ...(last < list.length ? [gap(list.length - last)] : []));
        if (active !== undefined && active !== null) {
            const button = byId("rows").querySelector('[data-index="' + active + '"]');
            if (button) {
                button.focus({preventScroll: true});
            }
        }
    }

    function draw() {
        choose();
        const isTree = orderOf().isTree || model.isFlat;
        byId("table").classList.toggle("low", isTree && found === null);
        byId("table").setAttribute("aria-rowcount", list.length + 2);
        byId("columns").replaceChildren(make("col", {class: "name"}),
            ...columns.map((column) => make("col", {"--width": column.width + "em"})));
        byId("head").replaceChildren(headings());
        byId("foot").replaceChildren(footings());
        byId("more").hidden = hidden === 0 && (State.get("all") === "" || model.named.length <= FEW_ROWS);
        byId("more").textContent = hidden > 0 ? "Show all " + (list.length + hidden) + " rows" : "Show only what is significant or large";
        byId("table-hint").textContent = hintOf();
        fill();
    }

    function hintOf() {
        const left = model.leftCount;
        const significant = model.data.left_out_significant || 0;
        return (model.isPair
            ? "Times of the frame itself, base and new. Distributions: grey is base, blue is new. "
            : "Averages over all requests, also those without the stack. ") +
            (model.isPair && State.get("mix") !== "" ? "Differences are at the base's mix of " + State.get("mix") + "; the times beside them are not. " : "") +
            (hidden > 0 ? hidden + " rows are neither " + (model.isPair ? "significant (q < 0.05) nor large" : "large") +
                " (1 % of the mean latency) and are not listed. " : "") +
            (left > 0 ? left + " smaller stacks are in this page only as sums" +
                (significant > 0 ? ", " + significant + " of them significant" : "") + "; their time is in the sum." : "");
    }

    /* Arrow keys move from row to row, also to one that is no element yet. */
    function onKey(event) {
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15}[event.key];
        const at = Number(event.target.dataset.index);
        if (step === undefined || event.target.dataset.index === undefined || !Parts.isPlain(event)) {
            return;
        }
        const index = Math.max(0, Math.min(list.length - 1, at + step));
        const scroller = byId("scroller");
        const height = rowHeight();
        const top = index * height;
        if (top < scroller.scrollTop || top + 3 * height > scroller.scrollTop + scroller.clientHeight) {
            scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 2);
            fill();
        }
        const button = byId("rows").querySelector('[data-index="' + index + '"]');
        if (button) {
            button.focus({preventScroll: true});
        }
        event.preventDefault();
    }

    function show(shown) {
        model = shown;
        found = null;
        columns = !model.isPair ? singleColumns
            : model.isFlat ? [...pairColumns.slice(0, 2), withBelow, ...pairColumns.slice(2)] : pairColumns;
        byId("table-title").textContent = {stack: "All stacks", service: "Services", name: "Components", edge: "Edges: what a callee costs its caller"}[model.data.by || "stack"];
        draw();
    }

    function start() {
        let isDue = false;
        byId("scroller").addEventListener("scroll", () => {
            if (!isDue) {
                isDue = true;
                requestAnimationFrame(() => { isDue = false; fill(); });
            }
        });
        byId("rows").addEventListener("keydown", onKey);
        byId("more").addEventListener("click", () => State.set({all: State.get("all") === "" ? "1" : ""}, false));
        State.listen((changed, hasAsked) => {
            if (model !== null && !hasAsked && (changed.has("sort") || changed.has("all"))) {
                if (changed.has("sort")) {
                    byId("scroller").scrollTop = 0;
                }
                const key = document.activeElement && document.activeElement.dataset.sort;
                draw();
                const button = key ? byId("head").querySelector('[data-sort="' + key + '"]') : null;
                if (button) {
                    button.focus({preventScroll: true});
                }
            }
        });
    }

    return {start, show, open, fill: () => { if (model !== null) { draw(); } }, mark: (result) => { found = result; draw(); }};
}());
