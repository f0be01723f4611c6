/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_latencies.js - the histogram of latencies; on the live page a range is selected in it
 *
 * Bars of base point up, those of new point down, so that no colour is needed to tell
 * them apart. The axis is logarithmic. A range is dragged, or set by the arrow keys of
 * two sliders.
 */
const Latencies = (function () {
    "use strict";
    const {byId, make, rough, counted} = Parts;
    const HEIGHT = 40;
    let sides = [];             /* with their histograms */
    let isLive = false;
    let bins = [];
    let range = [0, 0];         /* first and last bin that are selected */
    let isDragging = false;

    const isWhole = () => range[0] === 0 && range[1] === bins.length - 1;

    function bars(side, s, top) {
        return side.histogram.map((bin, at) => {
            const tall = bin.share > 0 ? Math.max(bin.share / top, 0.02) * HEIGHT : 0;
            return Parts.draw("rect", {class: (sides.length === 2 && s === 0 ? "base" : "new") + (at < range[0] || at > range[1] ? " outside" : ""),
                x: at + 0.05, width: 0.9, y: s === 0 ? HEIGHT - tall : HEIGHT, height: tall});
        });
    }

    function draw() {
        const shown = sides.filter((side) => side.histogram && side.histogram.length > 0);
        byId("latencies").hidden = shown.length === 0;
        if (shown.length === 0) {
            return;
        }
        const top = Math.max(1e-9, ...shown.flatMap((side) => side.histogram.map((bin) => bin.share)));
        const svg = Parts.draw("svg", {viewBox: "0 0 " + bins.length + " " + HEIGHT * shown.length,
            preserveAspectRatio: "none", role: "img", "aria-label": "histogram of latencies from " +
                rough(bins[0].low_ns) + " to " + rough(bins[bins.length - 1].high_ns) + " ms"},
        ...shown.flatMap((side, s) => bars(side, s, top)));
        byId("bars").classList.toggle("two", shown.length === 2);
        byId("bars").querySelector("svg")?.remove();
        byId("bars").prepend(svg);
        byId("bars").classList.toggle("brush", isLive);
        byId("latency-low").textContent = rough(bins[0].low_ns) + " ms";
        byId("latency-high").textContent = rough(bins[bins.length - 1].high_ns) + " ms";
        byId("latency-keys").replaceChildren(...(shown.length === 2 ? [make("span", {class: "key of-base"}, "▲ " + shown[0].name),
            make("span", {class: "key of-new"}, "▼ " + shown[1].name)] : []));
        drawRange();
    }

    function drawRange() {
        [0, 1].forEach((end) => {
            const thumb = byId("thumb-" + end);
            const ns = end === 0 ? bins[range[0]].low_ns : bins[range[1]].high_ns;
            thumb.hidden = !isLive;
            thumb.style.left = 100 * (range[end] + end) / bins.length + "%";
            thumb.setAttribute("aria-valuemin", 0);
            thumb.setAttribute("aria-valuemax", bins.length - 1);
            thumb.setAttribute("aria-valuenow", range[end]);
            thumb.setAttribute("aria-valuetext", rough(ns) + " ms");
        });
        const window = byId("window");
        window.hidden = isWhole();
        window.style.left = 100 * range[0] / bins.length + "%";
        window.style.width = 100 * (range[1] + 1 - range[0]) / bins.length + "%";
        byId("bars").querySelectorAll("rect").forEach((bar) => {
            const at = Math.round(Number(bar.getAttribute("x")) - 0.05);
            bar.classList.toggle("outside", at < range[0] || at > range[1]);
        });
        const inside = (side) => side.histogram.slice(range[0], range[1] + 1).reduce((sum, bin) => sum + bin.count, 0);
        byId("latency-text").textContent = isWhole() ? (isLive ? "Drag over the histogram, or use its sliders, to select a range." : "")
            : rough(bins[range[0]].low_ns) + " to " + rough(bins[range[1]].high_ns) + " ms: about " +
                sides.map((side) => (sides.length === 2 ? side.name + " " : "") + counted(inside(side), "request")).join(", ");
        byId("latency-clear").hidden = isWhole();
    }

    /* Selects what range says. */
    function select() {
        State.set(isWhole() ? {min_ns: "", max_ns: ""}
            : {min_ns: range[0] === 0 ? "" : String(bins[range[0]].low_ns),
                max_ns: range[1] === bins.length - 1 ? "" : String(bins[range[1]].high_ns)}, true);
    }

    const selectLater = Parts.later(select, 400);

    function binAt(event) {
        const box = byId("bars").getBoundingClientRect();
        return Math.max(0, Math.min(bins.length - 1, Math.floor((event.clientX - box.left) / box.width * bins.length)));
    }

    function drag(event) {
        if (!isLive || event.button !== 0 || event.target.classList.contains("thumb")) {
            return;
        }
        const from = binAt(event);
        isDragging = true;
        const move = (moved) => {
            const to = binAt(moved);
            range = [Math.min(from, to), Math.max(from, to)];
            drawRange();
        };
        const end = () => {
            isDragging = false;
            byId("bars").removeEventListener("pointermove", move);
            if (event.pointerId !== undefined && byId("bars").hasPointerCapture?.(event.pointerId)) {
                byId("bars").releasePointerCapture(event.pointerId);
            }
            select();
        };
        move(event);
        try {
            byId("bars").setPointerCapture(event.pointerId);
        } catch (error) {
            /* a pointer that has gone, or that a test made */
        }
        byId("bars").addEventListener("pointermove", move);
        byId("bars").addEventListener("pointerup", end, {once: true});
        event.preventDefault();
    }

    function onKey(event, end) {
        const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 8, PageDown: -8,
            Home: -bins.length, End: bins.length}[event.key];
        if (event.key === "Escape") {
            clear();
        } else if (step !== undefined && Parts.isPlain(event)) {
            const least = end === 0 ? 0 : range[0];
            const most = end === 0 ? range[1] : bins.length - 1;
            range[end] = Math.max(least, Math.min(most, range[end] + step));
            drawRange();
            selectLater();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    function clear() {
        range = [0, bins.length - 1];
        drawRange();
        select();
    }

    /* @shown: sides with the histogram of all their requests, also those out of the range. */
    function show(shown, canSelect) {
        sides = shown;
        isLive = canSelect;
        bins = (sides[0] && sides[0].histogram) || [];
        const min = Number(State.get("min_ns") || 0);
        const max = Number(State.get("max_ns") || Infinity);
        const first = bins.findIndex((bin) => bin.high_ns >= min);
        const last = bins.length - 1 - [...bins].reverse().findIndex((bin) => bin.low_ns <= max);
        range = [Math.max(0, first), Math.min(bins.length - 1, Math.max(first, last))];
        draw();
    }

    function start() {
        byId("bars").addEventListener("pointerdown", drag);
        [0, 1].forEach((end) => byId("thumb-" + end).addEventListener("keydown", (event) => onKey(event, end)));
        byId("latency-clear").addEventListener("click", clear);
    }

    return {start, show, isDragging: () => isDragging};
}());
