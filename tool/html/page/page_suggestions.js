/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_suggestions.js - comparisons that one may want, for one click
 *
 * An attribute with a few values is an experiment, a release, a region: its values are
 * compared. The completion of the server tells keys and values:
 *
 *      "" -> "arm", "region", …      "arm=" -> "arm=control" 60, "arm=treatment" 59
 */
const Suggestions = (function () {
    "use strict";
    const {byId, make} = Parts;
    const KEYS = 10;            /* asked for their values */
    const VALUES = 4;           /* an attribute with more is none to compare by */
    const COUNT = 8;
    const LEAST = 0.02;         /* of the requests: a rarer value is not compared */
    const FIRST = /^(arm|variant|experiment|treatment|build|version|release|canary)$/i;
    const BASES = /^(control|base|baseline|off|false|old|stable|a|none|0)$/i;

    /* "arm=control" -> ["arm", "control"]; null for other forms */
    function split(text) {
        const found = /^([^\s=<>!()"]+)\s*==?\s*(.*)$/s.exec(text);
        return found ? [found[1], found[2]] : null;
    }

    function keysOf(options) {
        const keys = new Map();
        for (const option of options) {
            const parts = split(option.text);
            const key = parts ? parts[0] : /^[^\s<>!()"]+$/.test(option.text) ? option.text.replace(/=$/, "") : "";
            if (key !== "" && !/^(latency|start|probability|trace_id|not|path|name|service|has|entry|failed|forced)$/.test(key)) {
                keys.set(key, true);
            }
        }
        return [...keys.keys()].sort((a, b) => FIRST.test(b) - FIRST.test(a)).slice(0, KEYS);
    }

    const plain = (value) => value.replace(/^"(.*)"$/s, "$1");

    /* Comparisons of the values of one key, {text, base, new}. */
    function comparisons(key, options) {
        const all = options.map((option) => ({...option, parts: split(option.text)}))
            .filter((option) => option.parts && option.parts[0] === key && option.parts[1] !== "");
        const total = all.reduce((sum, option) => sum + (option.count || 0), 0);
        const values = all.filter((option) => !(option.count < Math.max(2, LEAST * total)));
        if (values.length < 2 || values.length > VALUES) {
            return [];
        }
        values.sort((a, b) => BASES.test(plain(b.parts[1])) - BASES.test(plain(a.parts[1])) || (a.text < b.text ? -1 : 1));
        const [base] = values;
        return values.slice(1).map((value) => ({text: "Compare by " + key + ": " + plain(base.parts[1]) + " → " + plain(value.parts[1]),
            base: base.text, new: value.text}));
    }

    /* Of some requests, if completion tells nothing: options as it would give them. */
    async function fromRecords(records) {
        const counts = new Map();
        for (const record of await records()) {
            for (const [key, value] of Object.entries(record.attributes || {})) {
                const values = counts.get(key) || counts.set(key, new Map()).get(key);
                values.set(String(value), (values.get(String(value)) || 0) + 1);
            }
        }
        return [...counts].sort(([a], [b]) => FIRST.test(b) - FIRST.test(a)).flatMap(([key, values]) =>
            comparisons(key, [...values].map(([value, count]) => ({text: key + "=" + value, count: count}))));
    }

    const hasFailed = async (records) => {
        try {
            return (await records("failed")).length > 0;
        } catch (error) {
            return false;
        }
    };

    async function find(complete, records) {
        const found = [];
        try {
            const all = (await complete("")).options || [];
            for (const key of keysOf(all)) {
                const own = all.filter((option) => split(option.text)?.[0] === key && split(option.text)[1] !== "");
                found.push(...comparisons(key, own.length > 1 ? own : (await complete(key + "=")).options || []));
            }
            if (found.length === 0) {
                found.push(...await fromRecords(records));
            }
        } catch (error) {
            /* then there are the usual ones */
        }
        return [...found.slice(0, COUNT - 2), {text: "Slowest 1 % against the rest", base: "latency <= p99", new: "latency > p99"},
            ...(await hasFailed(records) ? [{text: "Failed against the rest", base: "not failed", new: "failed"}] : [])];
    }

    async function show(complete, records) {
        const found = await find(complete, records);
        byId("suggestions").replaceChildren(...found.map((at) => make("button", {type: "button", class: "chip",
            onclick: () => State.set({base: at.base, new: at.new, zoom: "", sort: "", all: "", record: ""}, true)}, at.text)),
        make("button", {type: "button", class: "chip", id: "all-requests", hidden: true,
            onclick: () => State.set({base: "", new: "", zoom: "", sort: "", record: ""}, true)}, "All requests together"));
    }

    return {show};
}());
