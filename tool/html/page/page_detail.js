/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* page_detail.js - all numbers of one stack, and its distribution */
const Detail = (function () {
    "use strict";
    const {byId, make, ms, rough, signed, percent} = Parts;
    const {inclusive} = Rows;
    let model = null;

    const side = (row, s) => row.sides[s] || null;

    /* @show of each side, or of those that have it. */
    const perSide = (row, show) => model.sides.map((unused, s) =>
        (side(row, s) ? show(side(row, s), s) : "–")).join(model.isPair ? " → " : "");

    function histogram(row, width, height) {
        const all = model.sides.map((unused, s) => (side(row, s) && side(row, s).bins) || []);
        const top = Math.max(...all.flat(), 1e-9);
        const count = Math.max(...all.map((bins) => bins.length), 1);
        const bars = all.flatMap((bins, s) => bins.map((share, at) => {
            const tall = Math.max(share / top, 0.04);
            return share > 0 ? Parts.draw("rect", {class: s === 1 || !model.isPair ? "new" : "base",
                x: at, width: 0.9, y: 1 - tall, height: tall}) : null;
        }));
        return Parts.draw("svg", {width: width, height: height, viewBox: "0 0 " + count + " 1",
            preserveAspectRatio: "none", role: "img",
            "aria-label": "distribution of the time in requests that have it"}, ...bars);
    }

    /* With the ends of its range, and the colour of each side. */
    function bigHistogram(row) {
        const ends = row.from_ns === undefined ? null : make("div", {class: "ends soft"},
            make("span", {}, rough(row.from_ns)), make("span", {}, rough(row.to_ns) + " ms"));
        return make("div", {class: "spread"},
            make("p", {class: "soft"}, "Distribution in requests that have it",
                ...(model.isPair ? [", ", make("span", {class: "key of-base"}, model.sides[0].name),
                    make("span", {class: "key of-new"}, model.sides[1].name)] : [])),
            histogram(row, 240, 44), ends);
    }

    const fact = (term, value) => make("div", {}, make("dt", {}, term), make("dd", {}, value));

    function timesOf(row) {
        const root = model.root;
        const facts = [
            fact("self ms" + (model.isPair ? ", base → new" : ""), perSide(row, (at) => ms(at.self_ns))),
            fact("with all below, ms", perSide(row, (at) => ms(at.inclusive_ns))),
            fact("share", perSide(row, (at, s) => percent(at.inclusive_ns / Math.max(1, inclusive(root, s))))),
        ];
        if (!row.isBrief && !row.isGroup && !row.isRest) {
            facts.push(
                fact("presence", perSide(row, (at) => at.presence.toFixed(3))),
                fact("when present, ms", perSide(row, (at) => ms(at.present_mean_ns))),
                fact("p50 ms", perSide(row, (at) => ms(at.p50_ns))),
                fact("p99 ms", perSide(row, (at) => ms(at.p99_ns))),
                fact("min to max, ms", perSide(row, (at) => ms(at.min_ns) + " – " + ms(at.max_ns))));
        }
        return facts;
    }

    function changesOf(row) {
        if (!model.isPair || !row.self) {
            return side(row, 0) && side(row, 0).low_ns !== undefined
                ? [fact("95 % interval, with all below", (Rows.doubt(row) !== "" ? "~ " : "") + ms(side(row, 0).low_ns) + " – " + ms(side(row, 0).high_ns))] : [];
        }
        const change = row.up ? row.self : row.inclusive;
        const facts = [
            fact(row.up ? "change of self, ms" : "change, ms", signed(change.delta_ns)),
            fact("95 % interval", (Rows.doubt(row) !== "" ? "~ " : "") + signed(change.low_ns) + " to " + signed(change.high_ns)),
            fact("q", Parts.isKnown(row.q_value) ? row.q_value.toPrecision(2) : "–"),
        ];
        if (row.detectable_ns !== undefined && row.detectable_ns !== null) {
            facts.push(fact("smallest detectable change, ms", ms(row.detectable_ns)));
        }
        if (row.up && !row.isBrief) {
            facts.push(
                fact("share of the whole change", Parts.isKnown(row.share_of_change) ? percent(row.share_of_change).replace("-", "−") : "–"),
                fact("by how often, ms", signed(row.frequency_ns)),
                fact("by how long, ms", signed(row.size_ns)));
        }
        return facts;
    }

    function remarksOf(row) {
        const doubt = Rows.doubt(row);
        return [
            doubt !== "" ? "~ Do not trust its interval: " + doubt + "." : null,
            row.lost_path ? "◇ Lost the critical path: it is on fewer paths, since another branch now takes longer. It did not get faster." : null,
            row.isBrief ? "This page has only the times of smaller stacks; select fewer requests or stacks to see more." : null,
            row.isRest ? "These stacks are too small to be named in this page; their time is in all sums." : null,
            row.isGroup ? "These stacks are too thin to draw here: zoom in to see them." : null,
        ].filter((remark) => remark !== null).map((remark) => make("p", {class: "soft"}, remark));
    }

    function show(row) {
        byId("detail").replaceChildren(make("h3", {}, Rows.markOf(row) + row.text),
            make("p", {class: "soft stack"}, Rows.stackOf(row).slice(0, -1).map((at) => at.text).join(" › ")),
            make("dl", {}, ...timesOf(row), ...changesOf(row)), ...remarksOf(row),
            ...Ask.actionsOf(row),
            ...(row.isBrief || row.isGroup || row.isRest ? [] : [bigHistogram(row)]));
    }

    return {show, histogram, perSide, take: (shown) => { model = shown; }};
}());
