/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_state.js - what is shown, kept in the query of the page's address
 *
 * So every view is a link, and the browser's "back" goes back. Two kinds of keys:
 *
 *      asked    which requests: a change asks the server again (live page only)
 *      shown    which part of the answer, and how
 *
 * The token of an address that others reach stays in it, and goes with each question.
 *
 * A browser may refuse to change the address of a file; then the view works without.
 */
const State = (function () {
    "use strict";
    const ASKED = ["where", "base", "new", "entry", "from", "to", "by", "min_ns", "max_ns", "stack", "mix"];
    const SHOWN = ["zoom", "find", "flame", "sort", "all", "record", "side"];
    let values = new URLSearchParams(location.search);
    const listeners = [];

    const get = (key) => values.get(key) || "";
    const asked = () => new URLSearchParams(ASKED.filter((key) => get(key) !== "").map((key) => [key, get(key)]));

    /* The query of a question with @parameters, which may be absent. */
    function withToken(parameters) {
        const all = new URLSearchParams(parameters);
        if (get("token") !== "") {
            all.set("token", get("token"));
        }
        const text = all.toString();
        return text === "" ? "" : "?" + text;
    }

    function tell(before) {
        const hasAsked = ASKED.some((key) => (before.get(key) || "") !== get(key));
        const changed = new Set([...ASKED, ...SHOWN].filter((key) => (before.get(key) || "") !== get(key)));
        listeners.forEach((listener) => listener(changed, hasAsked));
    }

    /* Sets keys; the empty text removes one. Without @isStep "back" skips the state. */
    function set(changes, isStep) {
        const before = new URLSearchParams(values);
        for (const [key, value] of Object.entries(changes)) {
            if (value === "" || value === null) {
                values.delete(key);
            } else {
                values.set(key, value);
            }
        }
        if (values.toString() === before.toString()) {
            return;
        }
        const query = values.toString();
        try {
            history[isStep ? "pushState" : "replaceState"](null, "", query === "" ? location.pathname : "?" + query);
        } catch (error) {
            /* a file */
        }
        tell(before);
    }

    addEventListener("popstate", () => {
        const before = values;
        values = new URLSearchParams(location.search);
        tell(before);
    });

    return {get, set, asked, withToken, listen: (listener) => listeners.push(listener)};
}());
