/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_falls.js - single requests over time, as waterfalls
 *
 * html_example.h describes a request. A row of a waterfall is a frame while it stays on
 * the path; see tool/print/waterfall.c.
 */
const Falls = (function () {
    "use strict";
    const {byId, make, ms, rough} = Parts;
    const FALL_ROWS = 80;
    let model = null;

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
                    fall.pieces.forEach((piece) => last.pieces.push(piece));
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
        return model === null || model.isFlat ? null : stack.reduce((row, [, text, , kind]) => row && row.children.find((child) =>
            child.text === text && child.kind === kind), model.root) || null;
    }

    function drawFall(fall, example, total, s) {
        const [, text, service, kind] = fall.count ? [0, "… " + fall.count + " more", "", "more"] : example.frames[fall.frame];
        const row = fall.count ? null : rowOf(example, fall.frame);
        const name = row ? make("button", {type: "button", onclick: () => {
            Frames.zoomTo(row, s);
            byId("icicles").scrollIntoView({block: "nearest"});
        }}, text) : text;
        const remark = fall.remark.replace(/(\w+)_ns (\d+)/g, (all, word, ns) => word + " " + ms(Number(ns)) + " ms");
        const label = make("div", {class: "label", title: text + remark}, name, make("span", {class: "soft"}, remark));
        const place = (element, begin, end) => {
            element.style.left = 100 * begin / total + "%";
            element.style.width = 100 * (end - begin) / total + "%";
            return element;
        };
        const piece = ([begin, end]) => place(make("span", {class: "piece " + (kind === "work" ? "work" : "waiting"),
            "--hue": Frames.hueOf(service)}), begin, end);
        label.style.paddingLeft = 12 * Math.min(fall.depth, 14) + "px";
        return make("div", {class: "fall"}, label, make("div", {class: "self"}, ms(fall.self)),
            make("div", {class: fall.pieces.length > 40 ? "time many" : "time"},
                place(make("span", {class: "span"}), fall.begin, fall.end), ...fall.pieces.map(piece)));
    }

    /* The headings of the columns, and the ends of the time axis. */
    const axis = (total) => make("div", {class: "fall axis soft"}, make("div", {class: "label"}, "frame"),
        make("div", {class: "own"}, "self ms"), make("div", {class: "ends"}, make("span", {}, "0"), make("span", {}, ms(total) + " ms")));

    /* The waterfall of @example, a request of side @s. */
    function draw(example, s) {
        const total = Math.max(1, example.latency_ns);
        const falls = fold(fallRows(example), total);
        return make("div", {class: "falls"},
            make("p", {class: "soft remarks"}, example.start + " · " + example.remarks +
                (example.metadata ? " · " + example.metadata : "")),
            axis(total), ...falls.map((fall) => drawFall(fall, example, total, s)),
            example.rest_ns > 0 ? make("p", {class: "soft"}, "and " + ms(example.rest_ns) +
                " ms in further segments, which are not in this page") : null);
    }

    function drawBand(band, s, isOpen) {
        const example = band.example;
        const low = rough(band.low_ns);
        const high = rough(band.high_ns);
        const range = Math.round(100 * band.from) + "–" + Math.round(100 * band.to) + " % of requests: " +
            (low === high ? "about " + low : low + " – " + high) + " ms";
        const head = make("summary", {}, (model.isPair ? model.sides[s].name + ", " : "") + range +
            (example ? " · for example " + example.entry + " " + ms(example.latency_ns) + " ms" + (example.status ? ", " + example.status : "") : ""));
        const box = make("details", {}, head);
        let isDrawn = false;
        box.addEventListener("toggle", () => {
            if (box.open && !isDrawn) {
                isDrawn = true;
                box.append(example ? draw(example, s)
                    : make("p", {class: "soft"}, "There is no request of a path log in this range; a tree holds no requests."));
            }
        });
        box.open = isOpen;
        return box;
    }

    function show(shown) {
        model = shown;
        const bandCount = Math.max(...model.sides.map((side) => (side.bands || []).length));
        const boxes = [];
        for (let i = 0; i < bandCount; i++) {
            model.sides.forEach((side, s) => {
                if (side.bands && side.bands[i]) {
                    boxes.push(drawBand(side.bands[i], s, i === bandCount - 1));
                }
            });
        }
        byId("bands").classList.toggle("two", model.isPair);
        byId("bands").replaceChildren(...boxes);
        byId("bands-hint").hidden = boxes.length === 0;
    }

    return {show, draw};
}());
