/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_frames.js - the icicle or flame graph of each side
 *
 *      +----------------------------------+   width is time; below a frame stand its
 *      | all requests                     |   callees, the largest first. Those too thin
 *      +-----------------+--------+-------+   to draw stand as one node with their sum,
 *      | A               | B      | … 40  |   which can be zoomed to like a frame.
 *      +-----------------+--------+-------+
 */
const Frames = (function () {
    "use strict";
    const {byId, make, ms, signed, percent, cut, nameBelow} = Parts;
    const {inclusive} = Rows;
    const THIN = 0.0012;        /* narrower parts of the width are not drawn … */
    const GROUP = 8 * THIN;     /* … but together, in groups of about this width */
    const GROUP_MEMBERS = 200;
    const CHARACTER = 6.7;      /* pixels, about */
    const HUES = [212, 32, 145, 275, 350, 180, 60, 315, 95, 240];

    let model = null;
    let services = new Map();
    let deltaMax = 1;
    let found = null;           /* of Rows.search(), or null */
    const at = {zoom: null, focus: null, side: 0, isFlame: false};

    /* --- Colours --- */

    const hueOf = (service) => (services.has(service) ? services.get(service) : 0);

    function colour() {
        const own = (row) => Math.max(Rows.self(row, 0), Rows.self(row, 1));
        services = new Map();
        [...model.named].sort((a, b) => own(b) - own(a)).forEach((row) => {
            if (row.service !== "" && !services.has(row.service)) {
                services.set(row.service, HUES[services.size % HUES.length]);
            }
        });
        deltaMax = model.named.reduce((most, row) =>
            (Rows.isReal(row) ? Math.max(most, Math.abs(row.self.delta_ns)) : most), 1);
    }

    /* Class and colour of a frame. */
    function dress(element, row) {
        if (row.isGroup || row.isRest) {
            element.classList.add("thinner");
        } else if (model.isPair) {
            const turn = Rows.turnOf(row);
            if (turn !== "") {
                element.classList.add("changed", "is-" + turn);
            }
            if (Rows.isReal(row)) {
                element.style.setProperty("--strength",
                    (0.4 + 0.6 * Math.sqrt(Math.abs(row.self.delta_ns) / deltaMax)).toFixed(3));
            } else if (turn !== "") {
                element.classList.add("leaning");
            }
        } else if (row.kind !== "work") {
            element.classList.add("waiting");
        } else if (row.up) {
            element.classList.add("work");
            element.style.setProperty("--hue", hueOf(row.service));
        }
        return element;
    }

    function drawLegend() {
        const key = (text, row) => dress(make("span", {class: "key"}, text), row);
        const change = (delta, lost) => ({up: true, self: {delta_ns: delta, low_ns: delta, high_ns: delta}, q_value: 0, lost_path: lost});
        if (model.isPair) {
            const keys = [key("▲ slower in new", change(deltaMax)), key("▼ faster in new", change(-deltaMax))];
            if (model.named.some((row) => Rows.turnOf(row) === "lost")) {
                keys.push(key("◇ lost: on fewer critical paths, since another branch now takes longer; it did not get faster",
                    change(-deltaMax, true)));
            }
            if (model.named.some((row) => Rows.doubt(row) !== "")) {
                keys.push(make("span", {}, "~ do not trust it: too few requests"));
            }
            keys.push(key("paler: its interval misses 0, but among all these rows it may be chance (q ≥ " + Rows.NOISE + ")",
                {...change(1), q_value: 1}),
            make("span", {class: "key"}, "no measurable change of its own time"));
            byId("legend").replaceChildren(...keys);
            return;
        }
        byId("legend").replaceChildren(...[...services.keys()].slice(0, 12).map((service) =>
            key(service, {kind: "work", service: service, up: true})),
        make("span", {class: "key waiting"}, "‹waiting›, not work"));
    }

    /* --- Layout --- */

    /* The nodes for @members of @row that are too thin alone. All of many become several
       groups, so that zooming to one always shows more. */
    function groups(row, members, width) {
        if (members.length === 0) {
            return [];
        }
        if (members.length === 1 && members[0].isRest) {
            return members;
        }
        const isAll = row.isGroup && members.length === row.children.length;
        const parts = isAll || members.length > GROUP_MEMBERS
            ? Math.max(1, Math.min(64, Math.floor(width / GROUP), Math.ceil(members.length / 8))) : 1;
        const made = [];
        for (let i = 0; i < parts; i++) {
            const part = members.slice(Math.floor(i * members.length / parts), Math.floor((i + 1) * members.length / parts));
            made.push(part.length === 1 ? part[0] : Rows.group(model, row, part));
        }
        return made;
    }

    /* Places the callees of @placed.row. */
    function layOutBelow(placed, s, whole) {
        const thin = [];
        let left = placed.left;
        const result = [];
        const put = (row, width) => {
            result.push({row: row, left: left, width: width, level: placed.level + 1, above: false});
            left += width;
        };
        for (const child of placed.row.children) {
            const width = inclusive(child, s) / whole;
            if (width >= THIN) {
                put(child, width);
            } else if (width > 0) {
                thin.push(child);
            }
        }
        const width = thin.reduce((sum, child) => sum + inclusive(child, s), 0) / whole;
        for (const row of groups(placed.row, thin, width)) {
            put(row, inclusive(row, s) / whole);
        }
        return result;
    }

    /* Places what is visible of side @s: {row, left, width, level, above}. */
    function layOut(s) {
        const whole = Math.max(1, model.larger(at.zoom));
        const chain = [model.root, ...Rows.stackOf(at.zoom)];
        const placed = chain.slice(0, -1).map((row, level) => (
            {row: row, left: 0, width: 1, level: level, above: true}));
        const open = [{row: at.zoom, left: 0, width: inclusive(at.zoom, s) / whole,
            level: at.zoom.depth, above: false}];
        for (let i = 0; i < open.length; i++) {
            placed.push(open[i]);
            const isThin = open[i].row.isGroup && open[i].row !== at.zoom;
            open.push(...(isThin ? [] : layOutBelow(open[i], s, whole)));
        }
        return placed.filter((node) => node.above || node.width > 0);
    }

    /* --- Drawing --- */

    const isMarked = (row) => found !== null &&
        (row.isGroup ? row.children.some((child) => found.rows.has(child) || found.above.has(child)) : found.rows.has(row));

    function words(node, s, pixels) {
        const row = node.row;
        const room = Math.floor((node.width * pixels - 8) / CHARACTER);
        const time = "  " + ms(inclusive(row, s));
        const name = Rows.markOf(row) + nameBelow(row);
        if (room < 3) {
            return "";
        }
        return room >= name.length + time.length ? name + time : cut(name, room);
    }

    function drawNode(node, s, levels, pixels) {
        const row = node.row;
        const ns = inclusive(row, s);
        const mark = Rows.markOf(row);
        const part = percent(ns / Math.max(1, inclusive(model.root, s)));
        const hint = row.isRest ? "\ntoo small to be named in this page"
            : row.isGroup ? "\ntoo thin to draw here: zoom in to see them"
                : row.up && row.self ? "\nself " + signed(row.self.delta_ns) + " ms" + (Rows.turnOf(row) === "lost" ? ", lost the critical path" : "") : "";
        const text = words(node, s, pixels);
        const element = dress(make("div", {
            class: "node", role: "treeitem", tabindex: "-1", "aria-level": node.level + 1,
            "aria-label": mark + row.text + ", " + ms(ns) + " milliseconds, " + part,
            title: row.text + "\n" + ms(ns) + " ms, " + part + hint,
            "data-row": row.index,
            onclick: () => zoomTo(row, s),
            onfocus: () => focusOn(row, s),
            onmouseenter: () => Detail.show(row),
        }, text), row);
        element.classList.toggle("thin", text === "");
        element.classList.toggle("above", node.above);
        element.classList.toggle("found", isMarked(row));
        element.style.left = 100 * node.left + "%";
        element.style.width = 100 * node.width + "%";
        element.style.top = "calc(var(--row) * " + (at.isFlame ? levels - 1 - node.level : node.level) + ")";
        return element;
    }

    function drawIcicle(s) {
        const placed = layOut(s);
        const levels = 1 + placed.reduce((most, node) => Math.max(most, node.level), 0);
        const icicle = byId("icicle-" + s);
        const pixels = icicle.clientWidth || 800;
        icicle.style.height = "calc(var(--row) * " + levels + " + 2px)";
        icicle.classList.toggle("searching", found !== null);
        icicle.replaceChildren(...placed.map((node) => drawNode(node, s, levels, pixels)));
    }

    const nodeOf = (row, s) => byId("icicle-" + s).querySelector('[data-row="' + row.index + '"]');

    /* The Tab key reaches one node of each icicle: the one that last had the focus. */
    function markFocus() {
        model.sides.forEach((unused, s) => {
            const node = nodeOf(at.focus, s) || nodeOf(at.zoom, s) || byId("icicle-" + s).firstChild;
            byId("icicle-" + s).querySelectorAll('[tabindex="0"]').forEach((old) => old.setAttribute("tabindex", "-1"));
            if (node) {
                node.setAttribute("tabindex", "0");
            }
        });
    }

    function draw() {
        if (model === null || model.isFlat) {
            return;
        }
        model.sides.forEach((unused, s) => drawIcicle(s));
        byId("out").disabled = at.zoom === model.root;
        byId("flip").textContent = at.isFlame ? "Icicle" : "Flame graph";
        markFocus();
    }

    /* Draws anew and keeps the focus of the keyboard. */
    function redraw() {
        const isInside = document.activeElement && document.activeElement.classList.contains("node");
        draw();
        if (isInside) {
            focusNode(at.focus);
        }
    }

    function focusNode(row) {
        const node = nodeOf(row, at.side) || nodeOf(at.zoom, at.side);
        if (node) {
            node.focus({preventScroll: true});
        }
    }

    /* --- Moving --- */

    function focusOn(row, s) {
        at.focus = row;
        at.side = s;
        markFocus();
        Detail.show(row);
    }

    function zoomTo(row, s) {
        at.zoom = row;
        at.focus = row;
        at.side = s;
        State.set({zoom: row.up ? Rows.keyOf(row) : ""}, true);
        draw();
        Detail.show(row);
        focusNode(row);
    }

    function zoomOut() {
        const row = at.zoom;
        if (row.up) {
            zoomTo(row.up, at.side);
            focusNode(row);
        }
    }

    function flip() {
        State.set({flame: at.isFlame ? "" : "1"}, false);
    }

    /* The visible node @step places from @node on its level. */
    function neighbour(node, s, step) {
        const level = [...byId("icicle-" + s).children]
            .filter((other) => other.getAttribute("aria-level") === node.getAttribute("aria-level"));
        return level[level.indexOf(node) + step];
    }

    /* The first node that is drawn below @row. */
    const below = (row, s) => [...byId("icicle-" + s).children]
        .find((node) => Rows.rowOf(model, node.dataset.row).up === row);

    function target(key, row, node, s) {
        const upside = {ArrowUp: "ArrowDown", ArrowDown: "ArrowUp"};
        switch ((at.isFlame && upside[key]) || key) {
        case "ArrowLeft": return neighbour(node, s, -1);
        case "ArrowRight": return neighbour(node, s, 1);
        case "ArrowUp": return row.up ? nodeOf(row.up, s) : null;
        case "ArrowDown": return below(row, s);
        case "Home": return nodeOf(model.root, s);
        default: return undefined;
        }
    }

    function onKey(event, s) {
        const row = event.target.dataset.row === undefined ? null : Rows.rowOf(model, event.target.dataset.row);
        if (!row || !Parts.isPlain(event)) {
            return;
        }
        if (event.key === "Enter" || event.key === " ") {
            zoomTo(row, s);
        } else {
            const node = target(event.key, row, event.target, s);
            if (node === undefined && !event.key.startsWith("Arrow")) {
                return;
            }
            if (node) {
                node.focus();
            }
        }
        event.preventDefault();
    }

    /* --- From outside --- */

    function take() {
        const zoom = State.get("zoom");
        at.zoom = (zoom !== "" && Rows.rowAt(model, zoom)) || model.root;
        at.isFlame = State.get("flame") !== "";
        if (at.focus === null || Rows.rowOf(model, at.focus.index) !== at.focus) {
            at.focus = at.zoom;
        }
    }

    function show(shown) {
        const key = at.focus === null || model === null ? "" : Rows.keyOf(at.focus);
        model = shown;
        at.focus = (key !== "" && Rows.rowAt(model, key)) || null;
        at.side = Math.min(at.side, model.sides.length - 1);
        found = null;
        colour();
        drawLegend();
        ["flames", "flip", "out"].forEach((id) => { byId(id).hidden = model.isFlat; });
        byId("icicles").classList.toggle("two", model.isPair);
        byId("icicles").replaceChildren(...model.sides.map((side, s) => make("div", {},
            model.isPair ? make("h3", {}, side.name + ": " + ms(inclusive(model.root, s)) + " ms") : null,
            make("div", {class: "icicle", id: "icicle-" + s, role: "tree",
                "aria-label": "critical path, " + side.name, onkeydown: (event) => onKey(event, s)}))));
        take();
        draw();
        Detail.show(at.focus);
    }

    State.listen((changed, hasAsked) => {
        if (model === null || hasAsked || !(changed.has("zoom") || changed.has("flame"))) {
            return;
        }
        const key = Rows.keyOf(at.zoom);
        if (changed.has("flame") || key !== State.get("zoom")) {
            take();
            redraw();
            Detail.show(at.focus);
        }
    });

    function mark(result) {
        found = result;
        redraw();
    }

    return {show, draw: redraw, mark, zoomTo, zoomOut, flip, hueOf, focusBack: () => focusNode(at.focus), side: () => at.side};
}());
