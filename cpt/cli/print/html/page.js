/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page.js - draws the HTML report from the JSON in the page
 *
 * html_data.h describes the data. Text from outside becomes text of nodes or attributes,
 * never markup. The script uses no network and stores nothing.
 *
 *      rows -> children and sides -> icicles (zoom, search, keys), table, detail
 *      sides[].bands[].example    -> waterfalls
 */
"use strict";
(function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    const rows = data.rows;
    const sides = data.sides;
    const isPair = sides.length === 2;
    const NOISE = 0.01;          /* a change with this q or more is taken for noise */
    const TABLE_ROWS = 100;      /* shown at first */
    const THIN = 0.0012;         /* narrower parts of the width are not drawn */
    const FALL_ROWS = 80;
    const HUES = [212, 32, 145, 275, 350, 180, 60, 315, 95, 240];

    /* --- Small parts --- */

    const byId = (id) => document.getElementById(id);

    function make(tag, attributes, ...children) {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes || {})) {
            if (name.startsWith("on")) {
                element.addEventListener(name.slice(2), value);
            } else if (name.startsWith("--")) {
                element.style.setProperty(name, value);
            } else if (value !== null && value !== undefined && value !== false) {
                element.setAttribute(name, value === true ? "" : value);
            }
        }
        element.append(...children.filter((child) => child !== null));
        return element;
    }

    const ms = (ns) => (ns === null ? "–" : (ns / 1e6).toFixed(3));
    const rough = (ns) => String(Number((ns / 1e6).toPrecision(3))); /* the precision of quantiles */
    const sign = (ns) => (Math.abs(ns) < 500 ? "" : ns > 0 ? "+" : "−"); /* 0.000 has none */
    const signed = (ns) => (ns === null ? "–" : sign(ns) + ms(Math.abs(ns)));
    const percent = (part) => (100 * part).toFixed(1) + " %";
    const side = (row, s) => row.sides[s] || null;
    const inclusive = (row, s) => (row.sides[s] ? row.sides[s].inclusive_ns : 0);
    const self = (row, s) => (row.sides[s] ? row.sides[s].self_ns : 0);
    const larger = (row) => Math.max(...sides.map((unused, s) => inclusive(row, s)));

    /* --- The rows as a tree --- */

    rows.forEach((row, index) => {
        row.index = index;
        row.children = [];
        row.depth = row.parent === null ? 0 : rows[row.parent].depth + 1;
        if (row.parent !== null) {
            rows[row.parent].children.push(row);
        }
    });
    rows.forEach((row) => row.children.sort((a, b) => larger(b) - larger(a)));
    const root = rows[0];
    if (root) {
        root.text = "all requests";
    }

    function stackOf(row) {
        const stack = [];
        for (let at = row; at && at.parent !== null; at = rows[at.parent]) {
            stack.unshift(at);
        }
        return stack;
    }

    /* Rows in the order of the tree, largest siblings first. */
    function inOrder() {
        const order = [];
        const open = root ? [root] : [];
        while (open.length > 0) {
            const row = open.pop();
            order.push(row);
            for (let i = row.children.length - 1; i >= 0; i--) {
                open.push(row.children[i]);
            }
        }
        return order;
    }

    const ordered = inOrder();

    /* Self times with those left out of the file: the mean latency. */
    const sums = sides.map((unused, s) => rows.reduce((sum, row) => {
        const below = row.children.reduce((all, child) => all + inclusive(child, s), 0);
        return sum + self(row, s) + (inclusive(row, s) - self(row, s) - below);
    }, 0));

    /* --- Colours --- */

    const services = new Map();
    [...rows].sort((a, b) => Math.max(self(b, 0), isPair ? self(b, 1) : 0) -
                             Math.max(self(a, 0), isPair ? self(a, 1) : 0))
        .forEach((row) => {
            if (row.service !== "" && !services.has(row.service)) {
                services.set(row.service, HUES[services.size % HUES.length]);
            }
        });
    const hueOf = (service) => (services.has(service) ? services.get(service) : 0);
    const isReal = (row) => isPair && row.self && row.q_value !== null &&
        row.q_value < NOISE && !row.rare && row.parent !== null;
    const deltaMax = Math.max(1, ...rows.filter(isReal).map((row) => Math.abs(row.self.delta_ns)));

    /* A change whose own interval misses 0, but which may be chance among all rows. */
    const isLeaning = (row) => isPair && row.self && !row.rare && row.parent !== null &&
        row.self.low_ns !== null && row.self.high_ns !== null && !isReal(row) &&
        (row.self.low_ns > 0 || row.self.high_ns < 0);

    /* Class and colour of a frame. */
    function dress(element, row) {
        if (isPair) {
            if (isReal(row) || isLeaning(row)) {
                element.classList.add("changed");
                element.style.setProperty("--hue", row.self.delta_ns > 0 ? "var(--slower)" : "var(--faster)");
            }
            if (isReal(row)) {
                element.style.setProperty("--strength",
                    (0.4 + 0.6 * Math.sqrt(Math.abs(row.self.delta_ns) / deltaMax)).toFixed(3));
            } else if (isLeaning(row)) {
                element.classList.add("leaning");
            }
        } else if (row.kind !== "work") {
            element.classList.add("waiting");
        } else if (row.parent !== null) {
            element.classList.add("work");
            element.style.setProperty("--hue", hueOf(row.service));
        }
        return element;
    }

    function drawLegend() {
        const legend = byId("legend");
        if (isPair) {
            const key = (text, delta) => dress(make("span", {class: "key"}, text),
                {parent: 0, self: {delta_ns: delta}, q_value: 0, rare: false});
            legend.append(key("▲ slower in new", deltaMax), key("▼ faster in new", -deltaMax),
                dress(make("span", {class: "key"}, "paler: its interval misses 0, but among all these rows it may be chance (q ≥ " + NOISE + ")"),
                    {parent: 0, self: {delta_ns: 1, low_ns: 1, high_ns: 1}, q_value: 1, rare: false}),
                make("span", {class: "key"}, "no measurable change of its own time"));
            return;
        }
        [...services.keys()].slice(0, 12).forEach((service) => legend.append(
            dress(make("span", {class: "key"}, service), {kind: "work", service: service})));
        legend.append(make("span", {class: "key waiting"}, "‹waiting›, not work"));
    }

    /* --- Histograms --- */

    function histogram(row, width, height) {
        const SVG = "http://www.w3.org/2000/svg";
        const svg = document.createElementNS(SVG, "svg");
        const all = sides.map((unused, s) => (side(row, s) && side(row, s).bins) || []);
        const top = Math.max(...all.flat(), 1e-9);
        const count = Math.max(...all.map((bins) => bins.length), 1);
        svg.setAttribute("width", width);
        svg.setAttribute("height", height);
        svg.setAttribute("viewBox", "0 0 " + count + " 1");
        svg.setAttribute("preserveAspectRatio", "none");
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", "distribution of the time in requests that have it");
        all.forEach((bins, s) => bins.forEach((share, at) => {
            if (share > 0) {
                const rect = document.createElementNS(SVG, "rect");
                const tall = Math.max(share / top, 0.04);
                rect.setAttribute("class", s === 1 || !isPair ? "new" : "base");
                rect.setAttribute("x", at);
                rect.setAttribute("width", 0.9);
                rect.setAttribute("y", 1 - tall);
                rect.setAttribute("height", tall);
                svg.append(rect);
            }
        }));
        return svg;
    }

    /* With the ends of its range, and the colour of each side. */
    function bigHistogram(row) {
        const ends = row.from_ns === undefined ? null : make("div", {class: "ends soft"},
            make("span", {}, rough(row.from_ns)), make("span", {}, rough(row.to_ns) + " ms"));
        return make("div", {class: "spread"},
            make("p", {class: "soft"}, "Distribution in requests that have it",
                ...(isPair ? [", ", make("span", {class: "key of-base"}, sides[0].name), make("span", {class: "key of-new"}, sides[1].name)] : [])),
            histogram(row, 240, 44), ends);
    }

    /* --- Detail --- */

    function fact(term, value) {
        return make("div", {}, make("dt", {}, term), make("dd", {}, value));
    }

    const perSide = (row, show) => sides.map((unused, s) =>
        (side(row, s) ? show(side(row, s), s) : "–")).join(isPair ? " → " : "");

    function showDetail(row) {
        const detail = byId("detail");
        const facts = make("dl", {},
            fact("self ms" + (isPair ? ", base → new" : ""), perSide(row, (at) => ms(at.self_ns))),
            fact("with all below, ms", perSide(row, (at) => ms(at.inclusive_ns))),
            fact("share", perSide(row, (at, s) => percent(at.inclusive_ns / Math.max(1, inclusive(root, s))))),
            fact("presence", perSide(row, (at) => at.presence.toFixed(3))),
            fact("when present, ms", perSide(row, (at) => ms(at.present_mean_ns))),
            fact("p50 ms", perSide(row, (at) => ms(at.p50_ns))),
            fact("p99 ms", perSide(row, (at) => ms(at.p99_ns))),
            fact("min to max, ms", perSide(row, (at) => ms(at.min_ns) + " – " + ms(at.max_ns))));
        if (isPair && row.self) {
            const change = row === root ? row.inclusive : row.self;
            facts.append(
                fact(row === root ? "change, ms" : "change of self, ms", signed(change.delta_ns)),
                fact("95 % interval", signed(change.low_ns) + " to " + signed(change.high_ns)),
                fact("q", row.q_value === null ? "–" : row.q_value.toPrecision(2)));
            if (row !== root) {
                facts.append(
                    fact("share of the whole change", row.share_of_change === null ? "–" : percent(row.share_of_change).replace("-", "−")),
                    fact("by how often, ms", signed(row.frequency_ns)),
                    fact("by how long, ms", signed(row.size_ns)));
            }
        } else if (side(row, 0)) {
            facts.append(fact("95 % interval, with all below",
                ms(side(row, 0).low_ns) + " – " + ms(side(row, 0).high_ns)));
        }
        const remarks = [row.rare ? "Few requests had it: do not trust the interval." : null,
            row.lost_path ? "It fell because its branch lost the critical path to another one." : null]
            .filter((remark) => remark !== null).map((remark) => make("p", {class: "soft"}, remark));
        detail.replaceChildren(make("h3", {}, row.text),
            make("p", {class: "soft stack"}, stackOf(row).slice(0, -1).map((at) => at.text).join(" › ")),
            facts, ...remarks, bigHistogram(row));
    }

    /* --- Icicles --- */

    /* isFlame: the root is below, as in a flame graph */
    const state = {zoom: root, focus: root, side: 0, words: "", isFlame: false};

    const isFound = (row) => state.words !== "" && row.parent !== null &&
        row.text.toLowerCase().includes(state.words);

    /* Places what is visible of side @s: {row, left, width, level, above}. */
    function layOut(s) {
        const whole = Math.max(1, larger(state.zoom));
        const chain = [root, ...stackOf(state.zoom)];
        const placed = chain.slice(0, -1).map((row, level) => (
            {row: row, left: 0, width: 1, level: level, above: true}));
        const open = [{row: state.zoom, left: 0, width: inclusive(state.zoom, s) / whole,
            level: state.zoom.depth, above: false}];
        while (open.length > 0) {
            const at = open.shift();
            let left = at.left;
            placed.push(at);
            for (const child of at.row.children) {
                const width = inclusive(child, s) / whole;
                if (width >= THIN) {
                    open.push({row: child, left: left, width: width, level: at.level + 1, above: false});
                }
                left += width;
            }
        }
        return placed.filter((at) => at.above || at.width > 0);
    }

    function drawNode(at, s, levels) {
        const row = at.row;
        const ns = inclusive(row, s);
        const mark = isReal(row) ? (row.self.delta_ns > 0 ? "▲ " : "▼ ") : "";
        const part = percent(ns / Math.max(1, inclusive(root, s)));
        const text = at.width < 0.015 ? "" : mark + row.text + (at.width > 0.12 ? "  " + ms(ns) : "");
        const node = dress(make("div", {
            class: "node", role: "treeitem", tabindex: "-1", "aria-level": row.depth + 1,
            "aria-label": mark + row.text + ", " + ms(ns) + " milliseconds, " + part,
            title: row.text + "\n" + ms(ns) + " ms, " + part + (isPair && row.self ? "\nself " + signed(row.self.delta_ns) + " ms" : ""),
            "data-row": row.index,
            onclick: () => zoomTo(row, s),
            onfocus: () => focusOn(row, s),
            onmouseenter: () => showDetail(row),
        }, text), row);
        node.classList.toggle("thin", at.width < 0.015);
        node.classList.toggle("above", at.above);
        node.classList.toggle("found", isFound(row));
        node.style.left = 100 * at.left + "%";
        node.style.width = 100 * at.width + "%";
        node.style.top = "calc(var(--row) * " + (state.isFlame ? levels - 1 - at.level : at.level) + ")";
        return node;
    }

    function drawIcicle(s) {
        const placed = layOut(s);
        const levels = 1 + Math.max(0, ...placed.map((at) => at.level));
        const icicle = byId("icicle-" + s);
        icicle.style.height = "calc(var(--row) * " + levels + " + 2px)";
        icicle.classList.toggle("searching", state.words !== "");
        icicle.replaceChildren(...placed.map((at) => drawNode(at, s, levels)));
    }

    function nodeOf(row, s) {
        return byId("icicle-" + s).querySelector('[data-row="' + row.index + '"]');
    }

    /* The Tab key reaches one node of each icicle: the one that last had the focus. */
    function markFocus() {
        sides.forEach((unused, s) => {
            const node = nodeOf(state.focus, s) || nodeOf(state.zoom, s) || byId("icicle-" + s).firstChild;
            byId("icicle-" + s).querySelectorAll('[tabindex="0"]').forEach((old) => old.setAttribute("tabindex", "-1"));
            if (node) {
                node.setAttribute("tabindex", "0");
            }
        });
    }

    function drawIcicles() {
        sides.forEach((unused, s) => drawIcicle(s));
        byId("out").disabled = state.zoom === root;
        markFocus();
    }

    function focusOn(row, s) {
        state.focus = row;
        state.side = s;
        markFocus();
        showDetail(row);
    }

    function zoomTo(row, s) {
        state.zoom = row;
        state.focus = row;
        drawIcicles();
        showDetail(row);
        const node = nodeOf(row, s);
        if (node) {
            node.focus({preventScroll: true});
        }
    }

    function zoomOut() {
        const row = state.zoom;
        if (row.parent !== null) {
            zoomTo(rows[row.parent], state.side);
            const node = nodeOf(row, state.side);
            if (node) {
                node.focus({preventScroll: true});
            }
        }
    }

    /* The visible node @step places from @row on its level. */
    function neighbour(row, s, step) {
        const level = [...byId("icicle-" + s).children]
            .filter((node) => rows[node.dataset.row].depth === row.depth);
        return level[level.findIndex((node) => Number(node.dataset.row) === row.index) + step];
    }

    function target(key, row, s) {
        const upside = {ArrowUp: "ArrowDown", ArrowDown: "ArrowUp"};
        switch ((state.isFlame && upside[key]) || key) {
        case "ArrowLeft": return neighbour(row, s, -1);
        case "ArrowRight": return neighbour(row, s, 1);
        case "ArrowUp": return row.parent === null ? null : nodeOf(rows[row.parent], s);
        case "ArrowDown": return row.children.map((child) => nodeOf(child, s)).find((node) => node !== null);
        case "Home": return nodeOf(root, s);
        default: return undefined;
        }
    }

    function onKey(event, s) {
        const row = rows[event.target.dataset.row];
        if (!row || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (event.key === "Enter" || event.key === " ") {
            zoomTo(row, s);
        } else {
            const node = target(event.key, row, s);
            if (node === undefined && !event.key.startsWith("Arrow")) {
                return;
            }
            if (node) {
                node.focus();
            }
        }
        event.preventDefault();
    }

    function flip() {
        state.isFlame = !state.isFlame;
        byId("flip").textContent = state.isFlame ? "Icicle" : "Flame graph";
        const isInside = document.activeElement.classList.contains("node");
        drawIcicles();
        const node = isInside ? nodeOf(state.focus, state.side) : null;
        if (node) {
            node.focus({preventScroll: true});
        }
    }

    function search(words) {
        state.words = words.trim().toLowerCase();
        drawIcicles();
        drawTable();
        const found = rows.filter(isFound);
        /* the time of a found frame includes the found frames below it */
        const tops = found.filter((row) => !stackOf(row).slice(0, -1).some(isFound));
        byId("found").textContent = state.words === "" ? "" :
            found.length + (found.length === 1 ? " stack" : " stacks") + " found, with all below: " +
            sides.map((unused, s) => {
                const ns = tops.reduce((sum, row) => sum + inclusive(row, s), 0);
                return (isPair ? sides[s].name + " " : "") + ms(ns) + " ms, " +
                    percent(ns / Math.max(1, inclusive(root, s)));
            }).join("; ");
    }

    function drawFrames() {
        byId("icicles").classList.toggle("two", isPair);
        sides.forEach((at, s) => byId("icicles").append(make("div", {},
            isPair ? make("h3", {}, at.name + ": " + ms(inclusive(root, s)) + " ms") : null,
            make("div", {class: "icicle", id: "icicle-" + s, role: "tree",
                "aria-label": "critical path, " + at.name, onkeydown: (event) => onKey(event, s)}))));
    }

    /* --- Table --- */

    const cell = (text, classes) => make("td", {class: classes || null}, text);
    const changeClass = (row) => (isReal(row) ? (row.self.delta_ns > 0 ? "slower" : "faster") : "soft");
    const number = (value) => (value === null || value === undefined ? -1 : value);
    const order = {column: null, sign: -1};
    let isWhole = false;

    const singleColumns = [
        {name: "self ms", by: (row) => self(row, 0), show: (row) => cell(ms(self(row, 0)))},
        {name: "incl ms", by: (row) => inclusive(row, 0), show: (row) => cell(ms(inclusive(row, 0)))},
        {name: "95 % interval", by: (row) => inclusive(row, 0),
            show: (row) => cell(ms(side(row, 0).low_ns) + " – " + ms(side(row, 0).high_ns), "soft")},
        {name: "share", by: (row) => inclusive(row, 0),
            show: (row) => cell(percent(inclusive(row, 0) / Math.max(1, inclusive(root, 0))))},
        {name: "presence", by: (row) => side(row, 0).presence, show: (row) => cell(side(row, 0).presence.toFixed(3))},
        {name: "when present", by: (row) => side(row, 0).present_mean_ns, show: (row) => cell(ms(side(row, 0).present_mean_ns))},
        {name: "p50", by: (row) => side(row, 0).p50_ns, show: (row) => cell(ms(side(row, 0).p50_ns))},
        {name: "p99", by: (row) => side(row, 0).p99_ns, show: (row) => cell(ms(side(row, 0).p99_ns))},
        {name: "distribution", show: (row) => cell(histogram(row, 96, 18))},
    ];
    const pairColumns = [
        {name: "diff ms", by: (row) => Math.abs(row.self.delta_ns),
            show: (row) => cell((isReal(row) ? (row.self.delta_ns > 0 ? "▲ " : "▼ ") : "") + signed(row.self.delta_ns), changeClass(row))},
        {name: "95 % interval", by: (row) => Math.abs(row.self.delta_ns),
            show: (row) => cell((row.rare ? "~" : "") + signed(row.self.low_ns) + " to " + signed(row.self.high_ns), "soft")},
        {name: "q", by: (row) => number(row.q_value), show: (row) => cell(row.q_value === null ? "–" : row.q_value.toPrecision(2))},
        {name: "base ms", by: (row) => self(row, 0), show: (row) => cell(ms(self(row, 0)))},
        {name: "new ms", by: (row) => self(row, 1), show: (row) => cell(ms(self(row, 1)))},
        {name: "presence", by: (row) => (side(row, 1) ? side(row, 1).presence : 0),
            show: (row) => cell(perSide(row, (at) => at.presence.toFixed(2)))},
        {name: "when present", by: (row) => (side(row, 1) ? side(row, 1).present_mean_ns : 0),
            show: (row) => cell(perSide(row, (at) => ms(at.present_mean_ns)))},
        {name: "distribution", show: (row) => cell(histogram(row, 96, 18))},
    ];
    const columns = isPair ? pairColumns : singleColumns;

    function headings() {
        const isSorted = (column) => order.column === column;
        return make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "frame"),
            ...columns.map((column) => make("th", {scope: "col",
                "aria-sort": isSorted(column) ? (order.sign < 0 ? "descending" : "ascending") : null},
            column.by ? make("button", {type: "button", onclick: () => {
                order.sign = isSorted(column) ? -order.sign : -1;
                order.column = column;
                drawTable();
            }}, column.name) : column.name))));
    }

    function tableRow(row) {
        const isTree = order.column === null;
        const path = stackOf(row).slice(0, -1).map((at) => at.text).join(" › ");
        const frame = make("td", {title: stackOf(row).map((at) => at.text).join("\n")},
            make("button", {type: "button", onclick: () => {
                zoomTo(row, side(row, state.side) ? state.side : 1 - state.side);
                byId("icicles").scrollIntoView({block: "nearest"});
            }}, row.text),
            isTree ? null : make("span", {class: "path"}, path));
        if (isTree) {
            frame.style.paddingLeft = 10 + 14 * Math.min(row.depth - 1, 14) + "px";
        }
        return make("tr", {}, frame, ...columns.map((column) => column.show(row)));
    }

    function footings() {
        const by = isPair ? {"base ms": 0, "new ms": 1} : {"self ms": 0};
        return make("tfoot", {}, make("tr", {}, cell("sum of all self times = mean latency"),
            ...columns.map((column) => {
                const s = by[column.name];
                const total = cell(s !== undefined ? ms(sums[s]) :
                    column.name === "diff ms" ? signed(root.inclusive.delta_ns) : "");
                if (s !== undefined) {
                    total.id = "sum-" + s;
                    total.dataset.ns = sums[s];
                }
                return total;
            })));
    }

    function drawTable() {
        let shown = ordered.filter((row) => row.parent !== null &&
            (state.words === "" || isFound(row)));
        if (order.column !== null) {
            shown = [...shown].sort((a, b) => order.sign * (order.column.by(a) - order.column.by(b)));
        }
        const cut = isWhole ? shown : shown.slice(0, TABLE_ROWS);
        byId("table").replaceChildren(headings(), make("tbody", {}, ...cut.map(tableRow)), footings());
        byId("more").hidden = cut.length === shown.length;
        byId("more").textContent = "Show all " + shown.length + " stacks";
        byId("table-hint").textContent = (isPair
            ? "Times of the frame itself, base and new; largest change first. Distributions: grey is base, blue is new. "
            : "Averages over all requests, also those without the stack. ") +
            (data.left_out > 0 ? data.left_out + " smaller stacks are not in this file; their time is in the sum." : "");
    }

    /* --- Waterfalls --- */

    /* A row is a frame while it stays on the path; see cpt/cli/print/waterfall.c. */
    function fallRows(example) {
        const falls = [];
        const open = [];
        let now = 0;
        for (const [frame, ns, remark] of example.segments) {
            const stack = [];
            for (let at = frame; at >= 0; at = example.frames[at][0]) {
                stack.unshift(at);
            }
            let shared = 0;
            while (shared < stack.length && shared < open.length && open[shared].frame === stack[shared]) {
                shared++;
            }
            open.length = shared;
            for (const at of stack.slice(shared)) {
                const fall = {frame: at, depth: open.length, begin: now, end: now, self: 0, pieces: [], remark: ""};
                falls.push(fall);
                open.push(fall);
            }
            const own = open[open.length - 1];
            own.self += ns;
            own.pieces.push([now, now + ns]);
            own.remark = own.remark || remark || "";
            now += ns;
            open.forEach((fall) => { fall.end = now; });
        }
        return falls;
    }

    /* If there are too many rows, the short ones are merged where they are. */
    function fold(falls, total) {
        if (falls.length <= FALL_ROWS) {
            return falls;
        }
        for (let least = total / 128; ; least *= 2) {
            const lines = [];
            for (const fall of falls) {
                const last = lines[lines.length - 1];
                if (fall.end - fall.begin >= least) {
                    lines.push(fall);
                } else if (last && last.count) {
                    last.count++;
                    last.depth = Math.min(last.depth, fall.depth);
                    last.end = Math.max(last.end, fall.end);
                    last.self += fall.self;
                    last.pieces.push(...fall.pieces);
                } else {
                    lines.push({...fall, frame: -1, count: 1, pieces: [...fall.pieces], remark: ""});
                }
            }
            if (lines.length <= FALL_ROWS || least > total) {
                return lines;
            }
        }
    }

    /* The row of the tree that has the stack of @frame, or null. */
    function rowOf(example, frame) {
        const stack = [];
        for (let at = frame; at >= 0; at = example.frames[at][0]) {
            stack.unshift(example.frames[at]);
        }
        return stack.reduce((row, [, text, , kind]) => row && row.children.find((child) =>
            child.text === text && child.kind === kind), root) || null;
    }

    function drawFall(fall, example, total, s) {
        const [, text, service, kind] = fall.count ? [0, "… " + fall.count + " more", "", "more"] : example.frames[fall.frame];
        const row = fall.count ? null : rowOf(example, fall.frame);
        const name = row ? make("button", {type: "button", onclick: () => {
            zoomTo(row, s);
            byId("icicles").scrollIntoView({block: "nearest"});
        }}, text) : text;
        const remark = fall.remark.replace(/(\w+)_ns (\d+)/g, (all, word, ns) => word + " " + ms(Number(ns)) + " ms");
        const label = make("div", {class: "label", title: text + remark}, name, make("span", {class: "soft"}, remark));
        const place = (element, begin, end) => {
            element.style.left = 100 * begin / total + "%";
            element.style.width = 100 * (end - begin) / total + "%";
            return element;
        };
        const piece = ([begin, end]) => {
            const bar = make("span", {class: "piece " + (kind === "work" ? "work" : "waiting"), "--hue": hueOf(service)});
            return place(bar, begin, end);
        };
        label.style.paddingLeft = 12 * Math.min(fall.depth, 14) + "px";
        return make("div", {class: "fall"}, label, make("div", {class: "self"}, ms(fall.self)),
            make("div", {class: fall.pieces.length > 40 ? "time many" : "time"}, place(make("span", {class: "span"}), fall.begin, fall.end), ...fall.pieces.map(piece)));
    }

    /* The headings of the columns, and the ends of the time axis. */
    const fallAxis = (total) => make("div", {class: "fall axis soft"}, make("div", {class: "label"}, "frame"),
        make("div", {class: "own"}, "self ms"), make("div", {class: "ends"}, make("span", {}, "0"), make("span", {}, ms(total) + " ms")));

    function drawFalls(example, s) {
        const total = Math.max(1, example.latency_ns);
        const falls = fold(fallRows(example), total);
        return make("div", {class: "falls"},
            make("p", {class: "soft"}, example.start + " · " + example.remarks +
                (example.metadata ? " · " + example.metadata : "")),
            fallAxis(total), ...falls.map((fall) => drawFall(fall, example, total, s)),
            example.rest_ns > 0 ? make("p", {class: "soft"}, "and " + ms(example.rest_ns) +
                " ms in further segments, which are not in this file") : null);
    }

    function drawBand(band, s, isOpen) {
        const example = band.example;
        const low = rough(band.low_ns);
        const high = rough(band.high_ns);
        const range = Math.round(100 * band.from) + "–" + Math.round(100 * band.to) + " % of requests: " +
            (low === high ? "about " + low : low + " – " + high) + " ms";
        const head = make("summary", {}, (isPair ? sides[s].name + ", " : "") + range +
            (example ? " · for example " + example.entry + " " + ms(example.latency_ns) + " ms" + (example.status ? ", " + example.status : "") : ""));
        const box = make("details", {}, head);
        let isDrawn = false;
        box.addEventListener("toggle", () => {
            if (box.open && !isDrawn) {
                isDrawn = true;
                box.append(example ? drawFalls(example, s)
                    : make("p", {class: "soft"}, "There is no request of a path log in this range; a tree holds no requests."));
            }
        });
        box.open = isOpen;
        return box;
    }

    function drawBands() {
        const bandCount = sides[0].bands.length;
        byId("bands").classList.toggle("two", isPair);
        for (let i = 0; i < bandCount; i++) {
            sides.forEach((at, s) => byId("bands").append(drawBand(at.bands[i], s, i === bandCount - 1)));
        }
    }

    /* --- The whole --- */

    function drawSummaries() {
        byId("title").textContent = document.title;
        sides.forEach((at, s) => byId("summaries").append(make("div", {class: "summary"},
            make("p", {}, isPair ? at.name + " " : "", make("b", {id: "mean-" + s, "data-ns": at.mean_latency_ns}, ms(at.mean_latency_ns)), " ms mean latency",
                isPair && s === 1 ? " (" + signed(root.self ? root.inclusive.delta_ns : 0) + ")" : ""),
            make("p", {class: "soft"}, at.requests + (at.requests === 1 ? " request" : " requests") +
                (at.low_ns !== null ? ", 95 % interval " + ms(at.low_ns) + " to " + ms(at.high_ns) + " ms" : "") +
                (at.where.length > 0 ? " · " + at.where.join(", ") : "") +
                (at.forced_excluded > 0 ? " · " + at.forced_excluded + " forced left out" : "") +
                (at.skipped > 0 ? " · " + at.skipped + " damaged skipped" : "")))));
        byId("footer").textContent = data.tool + " · " + [...new Set(sides.flatMap((at) => at.source))].join(", ");
    }

    drawSummaries();
    drawLegend();
    drawFrames();
    if (isPair) {
        order.column = columns[0];
    }
    drawIcicles();
    showDetail(root);
    drawTable();
    drawBands();

    byId("search").addEventListener("input", (event) => search(event.target.value));
    byId("search").addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            event.target.value = "";
            search("");
            const node = nodeOf(state.focus, state.side) || nodeOf(state.zoom, state.side);
            if (node) {
                node.focus();
            }
            event.stopPropagation();
        }
    });
    byId("out").addEventListener("click", zoomOut);
    byId("flip").addEventListener("click", flip);
    byId("more").addEventListener("click", () => { isWhole = true; drawTable(); });
    document.addEventListener("keydown", (event) => {
        const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName || "");
        if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
            byId("search").focus();
            event.preventDefault();
        } else if (event.key.toLowerCase() === "f" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
            flip();
        } else if (event.key === "Escape" && !isTyping) {
            zoomOut();
        }
    });
}());
