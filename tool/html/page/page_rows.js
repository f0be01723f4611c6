/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_rows.js - the rows of the data as a tree
 *
 * html_data.h describes the data. A row has `up`, `children` (largest first) and `sides`.
 * Besides the rows that have names, two kinds show what is left out, so that all sums are
 * right:
 *
 *      rest     rows that are not in the data: their count and sum below a parent
 *      group    children that are too thin to draw; it can be zoomed to
 */
const Rows = (function () {
    "use strict";
    const NOISE = 0.01;         /* a change with this q or more is taken for noise */
    const SIGNIFICANT = 0.05;   /* shown in the table at first */
    const LARGE = 0.01;         /* of the mean latency: shown in the table at first */

    const inclusive = (row, s) => (row.sides[s] ? row.sides[s].inclusive_ns : 0);
    const self = (row, s) => (row.sides[s] ? row.sides[s].self_ns : 0);

    /* A row of html_brief.h. */
    function brief(values, data, sideCount) {
        const [text, service, kind] = data.names[values[1]];
        const row = {parent: values[0], text: text, service: service, kind: kind, isBrief: true, sides: []};
        for (let s = 0; s < sideCount; s++) {
            const own = values[2 + 2 * s];
            row.sides.push(own === null ? null : {self_ns: own, inclusive_ns: values[3 + 2 * s]});
        }
        if (sideCount === 2) {
            const [delta, low, high, q, isLost, doubt] = values.slice(6);
            row.self = {delta_ns: delta, low_ns: low, high_ns: high};
            row.q_value = q;
            row.lost_path = isLost === 1;
            row.trusted = doubt === 0;
            row.why = data.doubts[doubt];
        }
        return row;
    }

    function rest(values) {
        return {parent: values[0], text: "… " + values[1] + " thinner", service: "", kind: "work", isRest: true,
            count: values[1], sides: values.slice(2).map((ns) => ({self_ns: 0, inclusive_ns: ns}))};
    }

    /* A row that stands for @members, children of @up. */
    function group(model, up, members) {
        const id = "group-" + up.index + "-" + members[0].index + "-" + members.length;
        if (!model.groups.has(id)) {
            const count = members.reduce((sum, row) => sum + (row.isRest ? row.count : 1 + row.below), 0);
            model.groups.set(id, {index: id, up: up, depth: up.depth + 1, children: members, below: count, count: count,
                text: "… " + count + " thinner", service: "", kind: "work", isGroup: true,
                sides: model.sides.map((unused, s) => ({self_ns: 0,
                    inclusive_ns: members.reduce((sum, row) => sum + inclusive(row, s), 0)}))});
        }
        return model.groups.get(id);
    }

    function link(model) {
        const {rows} = model;
        rows.forEach((row, index) => {
            row.index = index;
            row.children = [];
            row.below = 0;
            row.up = row.parent === null ? null : rows[row.parent];
            row.depth = row.up ? row.up.depth + 1 : 0;
            if (row.up) {
                row.up.children.push(row);
            }
        });
        for (let i = rows.length - 1; i > 0; i--) {
            rows[i].up.below += rows[i].isRest ? rows[i].count : 1 + rows[i].below;
        }
        const larger = model.larger;
        rows.forEach((row) => row.children.sort((a, b) => a.isRest - b.isRest || larger(b) - larger(a)));
    }

    /* Rows in the order of the tree, largest siblings first. */
    function inOrder(root) {
        const order = [];
        const open = [root];
        while (open.length > 0) {
            const row = open.pop();
            order.push(row);
            for (let i = row.children.length - 1; i >= 0; i--) {
                open.push(row.children[i]);
            }
        }
        return order;
    }

    /* The rows of @data, of html_data.h. */
    function of(data) {
        const sideCount = data.sides.length;
        const model = {data: data, sides: data.sides, isPair: sideCount === 2, isFlat: (data.by || "stack") !== "stack",
            groups: new Map(), leftCount: data.left_out || 0, rows: []};
        for (const list of [data.rows, (data.brief || []).map((values) => brief(values, data, sideCount)),
            (data.rest || []).map(rest)]) {
            for (const row of list) {
                row.isRest = row.isRest || false;
                model.rows.push(row);
            }
        }
        model.larger = (row) => Math.max(inclusive(row, 0), model.isPair ? inclusive(row, 1) : 0);
        model.root = model.rows[0];
        model.root.text = "all requests";
        link(model);
        const ordered = inOrder(model.root);
        model.named = ordered.filter((row) => row.up && !row.isRest);
        model.sums = data.sides.map((unused, s) => model.rows.reduce(
            (sum, row) => sum + (row.isRest ? inclusive(row, s) : self(row, s)), 0));
        return model;
    }

    /* --- Questions --- */

    function stackOf(row) {
        const stack = [];
        for (let at = row; at && at.up; at = at.up) {
            stack.unshift(at);
        }
        return stack;
    }

    const rowOf = (model, index) => model.groups.get(index) || model.rows[Number(index)];

    /* Why its numbers cannot be trusted; empty if they can. Of two sides it is the change
       that is judged, of one the interval of the mean. */
    function doubt(row) {
        const judged = row.trusted === undefined && row.sides && row.sides.length === 1 ? row.sides[0] : row;
        return judged && judged.trusted === false ? judged.why || "its interval cannot be trusted" : "";
    }

    const hasChange = (row) => row.up && row.self && row.q_value !== null && row.q_value !== undefined;
    const isReal = (row) => Boolean(hasChange(row) && row.q_value < NOISE && doubt(row) === "");

    /* A change whose own interval misses 0, but which may be chance among all rows. */
    const isLeaning = (row) => Boolean(hasChange(row) && doubt(row) === "" && !isReal(row) &&
        row.self.low_ns !== null && row.self.high_ns !== null && (row.self.low_ns > 0 || row.self.high_ns < 0));

    const isLarge = (model, row) => {
        const whole = Math.max(1, model.larger(model.root));
        return model.isPair
            ? row.q_value !== null && row.q_value < SIGNIFICANT || Math.abs(row.self ? row.self.delta_ns : 0) >= LARGE * whole
            : model.larger(row) >= LARGE * whole;
    };

    /* slower, faster, lost or the empty word. */
    const turnOf = (row) => (!isReal(row) && !isLeaning(row) ? ""
        : row.lost_path ? "lost" : row.self.delta_ns > 0 ? "slower" : "faster");
    const MARKS = {slower: "▲ ", faster: "▼ ", lost: "◇ "};
    const markOf = (row) => (isReal(row) ? MARKS[turnOf(row)] : doubt(row) !== "" && row.self ? "~ " : "");

    /* The path of a row as text that stands in a link, and back. */
    const keyOf = (row) => stackOf(row).filter((at) => !at.isGroup)
        .map((at) => at.text.replace(/[\\;]/g, "\\$&")).join(";");

    function rowAt(model, key) {
        const texts = (key.match(/(?:\\.|[^;\\])+/gs) || []).map((text) => text.replace(/\\(.)/gs, "$1"));
        return texts.reduce((row, text) => row && row.children.find((child) => child.text === text), model.root) || null;
    }

    /* --- Search --- */

    /* {rows, above, sums}: what has @words in its name, what is above that, and the times
       of the outermost ones. */
    function search(model, words) {
        const wanted = words.toLowerCase();
        const known = new Map();
        const isMatch = (text) => {
            if (!known.has(text)) {
                known.set(text, text.toLowerCase().includes(wanted));
            }
            return known.get(text);
        };
        const rows = new Set(model.named.filter((row) => isMatch(row.text)));
        const above = new Set();
        const sums = model.sides.map(() => 0);
        for (const row of rows) {
            let isOuter = true;
            for (let at = row.up; at; at = at.up) {
                isOuter = isOuter && !rows.has(at);
                above.add(at);
            }
            if (isOuter) {
                model.sides.forEach((unused, s) => { sums[s] += inclusive(row, s); });
            }
        }
        return {rows, above, sums};
    }

    return {NOISE, SIGNIFICANT, of, inclusive, self, group, stackOf, rowOf, rowAt, keyOf, doubt, isReal, isLeaning, isLarge, turnOf, markOf, search};
}());
