/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * page_boxes.js - text boxes for selections, with completion, and their errors
 *
 * A box shows a key of State. It is committed by Enter or by leaving it. The server
 * completes the text before the cursor, as it knows the keys and values. A box is a combobox
 * after ARIA: the arrow keys choose, Enter or Tab takes, Escape closes.
 */
const Boxes = (function () {
    "use strict";
    const {byId, make} = Parts;
    const OPTIONS = 12;
    const boxes = new Map();

    function close(box) {
        box.list.hidden = true;
        box.input.setAttribute("aria-expanded", "false");
        box.input.removeAttribute("aria-activedescendant");
        box.at = -1;
    }

    function mark(box, at) {
        box.at = at;
        [...box.list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
        const item = box.list.children[at];
        if (item) {
            box.input.setAttribute("aria-activedescendant", item.id);
            item.scrollIntoView({block: "nearest"});
        }
    }

    /* The text before the cursor: options are whole texts that may stand in its place. */
    const before = (input) => input.value.slice(0, input.selectionStart);

    function take(box, text) {
        const {input} = box;
        const isKey = /^[\w.-]+$/.test(text); /* its value comes next */
        const taken = isKey ? text + "=" : text;
        input.value = taken + input.value.slice(input.selectionStart);
        input.setSelectionRange(taken.length, taken.length);
        close(box);
        input.focus();
        if (isKey) {
            offer(box);
        } else {
            commit(box);
        }
    }

    function open(box, options) {
        box.list.replaceChildren(...options.slice(0, OPTIONS).map((option, i) => make("li", {role: "option",
            id: box.key + "-option-" + i, "aria-selected": "false",
            onpointerdown: (event) => { event.preventDefault(); take(box, option.text); }},
        make("span", {}, option.text), make("span", {class: "soft number"}, option.count === undefined ? "" : String(option.count)))));
        box.list.hidden = options.length === 0;
        box.isStale = false;
        box.input.setAttribute("aria-expanded", String(options.length > 0));
        box.at = -1;
        box.input.removeAttribute("aria-activedescendant");
    }

    async function offer(box) {
        const text = before(box.input);
        const turn = ++box.turn;
        try {
            const answer = await box.complete(text);
            if (turn === box.turn && document.activeElement === box.input) {
                open(box, (answer.options || []).filter((option) => option.text !== text));
            }
        } catch (error) {
            close(box); /* completion is a help: without it one types */
        }
    }

    function commit(box) {
        close(box);
        box.turn++;
        State.set({[box.key]: box.input.value.trim()}, true);
    }

    function onKey(event, box) {
        const count = box.list.hidden || box.isStale ? 0 : box.list.children.length;
        const text = box.at >= 0 && count > 0 ? box.list.children[box.at].firstChild.textContent : null;
        if (event.key === "ArrowDown" && count === 0) {
            offer(box);
        } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count > 0) {
            mark(box, (box.at + (event.key === "ArrowDown" ? 1 : count - (box.at < 0 ? 0 : 1))) % count);
        } else if ((event.key === "Enter" || event.key === "Tab") && text !== null) {
            take(box, text);
        } else if (event.key === "Enter") {
            commit(box);
        } else if (event.key === "Escape" && count > 0) {
            close(box);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    /* A box for the key @key of State; @complete asks for the options of a text. */
    function box(key, label, hint, complete) {
        const input = make("input", {id: "box-" + key, type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
            "aria-controls": "options-" + key, "aria-describedby": "error-" + key, placeholder: hint,
            autocomplete: "off", autocapitalize: "off", spellcheck: "false"});
        const list = make("ul", {id: "options-" + key, role: "listbox", "aria-label": label, hidden: true});
        const error = make("p", {id: "error-" + key, class: "error", role: "alert", hidden: true});
        const made = {key, input, list, error, complete, turn: 0, at: -1, isStale: false};
        input.value = State.get(key);
        if (complete) {
            const offerSoon = Parts.later(() => offer(made), 120);
            input.addEventListener("input", () => {
                made.isStale = true; /* the list is of the text before */
                offerSoon();
            });
            input.addEventListener("focus", () => offer(made));
        }
        input.addEventListener("keydown", (event) => onKey(event, made));
        input.addEventListener("blur", () => { if (input.value.trim() !== State.get(key)) { commit(made); } else { close(made); } });
        boxes.set(key, made);
        return make("div", {class: "box"}, make("label", {for: "box-" + key}, label), input, list, error);
    }

    /* Shows what State says. */
    function read() {
        boxes.forEach((made) => {
            if (made.input.value.trim() !== State.get(made.key)) {
                made.input.value = State.get(made.key);
            }
        });
    }

    /* Shows @sentence at the box @key; "" at all boxes if it is empty. */
    function complain(key, sentence) {
        boxes.forEach((made) => {
            const text = made.key === key ? sentence : "";
            made.error.textContent = text;
            made.error.hidden = text === "";
            made.input.setAttribute("aria-invalid", String(text !== ""));
        });
        return boxes.has(key);
    }

    const isBusy = () => [...boxes.values()].some((made) => made.input === document.activeElement &&
        (!made.list.hidden || made.input.value.trim() !== State.get(made.key)));

    return {box, read, complain, isBusy, focus: (key) => byId("box-" + key).focus()};
}());
