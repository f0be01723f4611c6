/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * report_browser.js - tests the HTML report in a browser, for report_browser.sh
 *
 * Runs after the script of the page. It presses keys and checks the effects; it reports
 * errors to the page around it, one on each line, or "sound".
 */
"use strict";
(function () {
    const wrong = [];
    const expect = (holds, sentence) => { if (!holds) { wrong.push(sentence); } };
    const byId = (id) => document.getElementById(id);
    const active = () => document.activeElement;
    const press = (key, target) => (target || active()).dispatchEvent(
        new KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true}));
    const data = JSON.parse(byId("data").textContent);

    function checkSums() {
        data.sides.forEach((side, s) => {
            const sum = byId("sum-" + s);
            const mean = byId("mean-" + s);
            expect(sum.textContent === mean.textContent,
                "the sum shown is " + sum.textContent + ", the mean " + mean.textContent);
            expect(Math.abs(Number(sum.dataset.ns) - side.mean_latency_ns) <= 0.501,
                "the sum is " + sum.dataset.ns + " ns, the mean " + side.mean_latency_ns);
        });
    }

    function checkKeys() {
        const icicle = byId("icicle-0");
        icicle.querySelector('[tabindex="0"]').focus();
        expect(active().getAttribute("aria-level") === "1", "the root has the focus first");
        press("ArrowDown");
        press("ArrowDown");
        const row = active().dataset.row;
        const before = active().getBoundingClientRect().width;
        expect(active().getAttribute("aria-level") === "3", "down goes to a callee");
        press("ArrowRight");
        press("ArrowLeft");
        expect(active().getAttribute("aria-level") === "3", "left and right stay on the level");
        icicle.querySelector('[data-row="' + row + '"]').focus();
        press("Enter");
        expect(active().dataset.row === row, "a node keeps the focus when it is zoomed to");
        expect(active().getBoundingClientRect().width >= before, "Enter makes it no narrower");
        expect(!byId("out").disabled, "after Enter one can zoom out");
        expect(icicle.querySelectorAll(".above").length === 2, "what is above it stays to be seen");
        expect(icicle.querySelectorAll('[tabindex="0"]').length === 1, "one node is reached by Tab");
        press("Escape");
        press("Escape");
        expect(byId("out").disabled, "Escape zooms out to the whole");
        expect(icicle.querySelectorAll(".above").length === 0, "nothing is above the whole");
    }

    function checkSearch() {
        press("/");
        expect(active() === byId("search"), "a slash goes to the search");
        byId("search").value = "B: ";
        byId("search").dispatchEvent(new Event("input", {bubbles: true}));
        expect(document.querySelectorAll(".node.found").length > 0, "what is searched for is marked");
        expect(/^\d+ stacks? found/.test(byId("found").textContent), "it is counted");
        expect([...byId("table").querySelectorAll("tbody button")].every((at) => at.textContent.startsWith("B: ")),
            "the table shows what is found");
        press("Escape");
        expect(byId("found").textContent === "" && active().classList.contains("node"),
            "Escape ends the search and goes back");
    }

    function checkFlip() {
        const icicle = byId("icicle-0");
        const top = (node) => node.getBoundingClientRect().top;
        const two = () => ["1", "2"].map((level) => icicle.querySelector('[aria-level="' + level + '"]'));
        const [root, first] = two();
        expect(top(root) < top(first), "of an icicle the root is above");
        root.focus();
        press("f");
        const [below, above] = two();
        expect(top(below) > top(above), "of a flame graph the root is below");
        expect(active().getAttribute("aria-level") === "1", "the root keeps the focus when it is turned over");
        press("ArrowUp");
        expect(active().getAttribute("aria-level") === "2", "up goes to a callee there");
        byId("flip").click();
        expect(top(two()[0]) < top(two()[1]), "and an icicle again");
    }

    function checkBands() {
        let count = 0;
        document.querySelectorAll("details").forEach((box) => { box.open = true; });
        return new Promise((done) => setTimeout(done, 50)).then(() => {
            data.sides.flatMap((side) => side.bands.map((band) => band.example)).forEach((example) => {
                const box = [...document.querySelectorAll("details")].find((at) =>
                    example && !at.seen && at.textContent.includes(example.start));
                if (!box) {
                    return;
                }
                box.seen = true;
                count++;
                const sum = [...box.querySelectorAll(".self")].reduce((all, at) => all + Number(at.textContent), 0);
                expect(Math.abs(sum * 1e6 + example.rest_ns - example.latency_ns) < 1000 * box.querySelectorAll(".self").length,
                    "a waterfall adds up to " + sum + " ms of " + example.latency_ns + " ns");
            });
            expect(count > 0, "there is an example");
        });
    }

    function checkSafety() {
        expect(window.owned === undefined, "a name was run as a script");
        expect(document.images.length === 0, "a name became an element");
        expect(document.scripts.length === 4, "there are " + document.scripts.length + " scripts");
        expect(document.documentElement.scrollWidth <= window.innerWidth,
            "the page is wider than the window: " + document.documentElement.scrollWidth + " of " + window.innerWidth);
        expect(performance.getEntriesByType("resource").length === 0, "something was loaded");
    }

    try {
        checkSums();
        checkKeys();
        checkSearch();
        checkFlip();
        checkSafety();
    } catch (error) {
        wrong.push("failed: " + error.stack);
    }
    checkBands().catch((error) => wrong.push("failed: " + error.stack)).then(() => {
        window.parent.postMessage([...wrong, ...window.errors].join("\n") ||
            "sound at " + window.innerWidth, "*");
    });
}());
