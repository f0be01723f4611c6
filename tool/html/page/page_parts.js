/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_parts.js - elements, numbers and names as the page shows them
 *
 * Text from outside becomes text of nodes or attributes, never markup.
 */
const Parts = (function () {
    "use strict";
    const SVG = "http://www.w3.org/2000/svg";
    const byId = (id) => document.getElementById(id);

    /* Attributes "on…" are listeners, "--…" properties of the style. */
    function dressed(element, attributes, children) {
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

    const make = (tag, attributes, ...children) =>
        dressed(document.createElement(tag), attributes, children);
    const draw = (tag, attributes, ...children) =>
        dressed(document.createElementNS(SVG, tag), attributes, children);

    /* --- Numbers --- */

    const isKnown = (value) => value !== null && value !== undefined;
    const ms = (ns) => (isKnown(ns) ? (ns / 1e6).toFixed(3) : "–");
    /* the precision of quantiles */
    const rough = (ns) => String(Number((ns / 1e6).toPrecision(3)));
    /* 0.000 has none */
    const sign = (ns) => (Math.abs(ns) < 500 ? "" : ns > 0 ? "+" : "−");
    const signed = (ns) => (isKnown(ns) ? sign(ns) + ms(Math.abs(ns)) : "–");
    const percent = (part) => (100 * part).toFixed(1) + " %";
    const probability = (q) => (!isKnown(q) ? "–" : q < 0.001 ? "<0.001" : q.toFixed(3));
    const counted = (count, one) => count + " " + one + (count === 1 ? "" : "s");

    /* --- Names --- */

    /* At most @length characters, cut in the middle: names differ at both ends. */
    function cut(text, length) {
        const characters = [...text];
        if (characters.length <= length) {
            return text;
        }
        if (length < 2) {
            return "";
        }
        const head = Math.ceil((length - 1) / 2);
        return characters.slice(0, head).join("") + "…" +
            characters.slice(characters.length - (length - 1 - head)).join("");
    }

    /* The name of @row below its parent: without the service if the parent has the same. */
    function nameBelow(row) {
        const prefix = row.service + ": ";
        return row.up && row.service !== "" && row.up.service === row.service && row.text.startsWith(prefix)
            ? row.text.slice(prefix.length) : row.text;
    }

    /* Calls @work after the last of several calls. */
    function later(work, delay) {
        let timer = 0;
        return (...values) => {
            clearTimeout(timer);
            timer = setTimeout(() => work(...values), delay);
        };
    }

    const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
    const isTyping = (element) => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName || "");

    return {byId, make, draw, isKnown, ms, rough, signed, percent, probability, counted, cut, nameBelow, later, isPlain, isTyping};
}());
