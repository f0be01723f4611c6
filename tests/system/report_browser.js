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
    const isPair = data.sides.length === 2;
    const all = () => Rows.of(JSON.parse(byId("data").textContent));
    const names = () => [...byId("rows").querySelectorAll("tr.data td:first-child")].map((at) => at.title.split("\n").pop());
    const type = (words) => {
        byId("search").value = words;
        byId("search").dispatchEvent(new Event("input", {bubbles: true}));
    };

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
        const service = byId("title").textContent.startsWith("A") && names().some((at) => at.startsWith("B: ")) ? "B: " : "S0";
        type(service);
        expect(document.querySelectorAll(".node.found").length > 0, "what is searched for is marked");
        expect(/^\d+ stacks? found/.test(byId("found").textContent), "it is counted");
        expect([...byId("table").querySelectorAll("tbody button")].every((at) => at.textContent.startsWith(service)),
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

    /* Below each node that is drawn with its callees, these and its own time fill it. */
    function checkWidths() {
        const model = all();
        data.sides.forEach((unused, s) => {
            const nodes = [...byId("icicle-" + s).children];
            const root = byId("icicle-" + s).querySelector('[aria-level="1"]').getBoundingClientRect().width;
            const pixels = root / Math.max(1, Rows.inclusive(model.root, s));
            for (const node of nodes.filter((at) => /^\d+$/.test(at.dataset.row))) {
                const row = model.rows[node.dataset.row];
                const box = node.getBoundingClientRect();
                const level = String(Number(node.getAttribute("aria-level")) + 1);
                const below = nodes.filter((at) => at.getAttribute("aria-level") === level).map((at) => at.style)
                    .reduce((sum, style) => (inside(style, node.style) ? sum + Number.parseFloat(style.width) : sum), 0);
                const wanted = 100 * (Rows.inclusive(row, s) - Rows.self(row, s)) * pixels / byId("icicle-" + s).clientWidth;
                expect(row.isRest || box.width < 3 || Math.abs(below - wanted) < 0.2,
                    "below " + row.text + " are " + below + " %, not " + wanted);
            }
        });
    }

    function inside(style, parent) {
        const left = Number.parseFloat(style.left) + Number.parseFloat(style.width) / 2;
        return left >= Number.parseFloat(parent.left) && left < Number.parseFloat(parent.left) + Number.parseFloat(parent.width);
    }

    /* A page of ten thousand stacks, of which the smallest has changed. */
    function checkWide() {
        const rows = all().named;
        const smallest = rows.filter((row) => row.children.length === 0)
            .reduce((least, row) => (Rows.inclusive(row, 0) < Rows.inclusive(least, 0) ? row : least));
        expect(rows.length === 10043, "there are " + rows.length + " stacks");
        expect(smallest.text === "A: needle", "the smallest is " + smallest.text);
        type("straw");
        expect(byId("found").textContent.startsWith("10000 stacks found"), "all are searched: " + byId("found").textContent);
        expect(document.querySelectorAll(".node.thinner.found").length > 0, "nodes of thin rows are marked");
        type("needle");
        expect(byId("found").textContent.startsWith("1 stack found"), "the smallest is found: " + byId("found").textContent);
        type("");
        const thinner = byId("icicle-0").querySelector(".node.thinner");
        expect(/^… \d+ thinner, /.test(thinner.getAttribute("aria-label")), "thin rows are one node: " + thinner.getAttribute("aria-label"));
        thinner.click();
        expect([...byId("icicle-0").children].some((at) => at.title.includes("straw")), "zooming to it shows them");
        press("Escape", document.body);
        press("Escape", document.body);
        press("Escape", document.body);
        press("Escape", document.body);
        expect(byId("out").disabled, "and out again");
        if (isPair) {
            byId("head").querySelector('[data-sort="q"]').click();
            expect(names()[0] === "A: needle", "the change is the first by q, not " + names()[0]);
        }
        const begin = performance.now();
        byId("more").click();
        const took = performance.now() - begin;
        const elements = byId("rows").children.length;
        expect(names().length > 20 && elements < 200, "all rows take " + elements + " elements");
        expect(took < 1000, "to show all takes " + took + " ms");
        expect(byId("table").getAttribute("aria-rowcount") === "10045", "a screen reader learns how many");
        byId("rows").querySelector("button").focus();
        for (let i = 0; i < 200; i++) {
            press("ArrowDown");
        }
        expect(active().dataset.index === "200", "arrow keys move through all rows, to " + active().dataset.index);
        byId("more").click();
    }

    function checkLost() {
        const row = all().named.find((at) => at.text === "B: B1");
        const node = byId("icicle-0").querySelector('[data-row="' + row.index + '"]');
        expect(row.lost_path, "B1 lost the path");
        expect(node.getAttribute("aria-label").startsWith("◇") && node.classList.contains("is-lost"), "it is marked as lost, not as faster");
        expect(byId("legend").textContent.includes("◇ lost"), "the legend says what lost is");
        expect(names().length === 3 && byId("rows").textContent.includes("lost"), "the table says lost");
    }

    /* What the data only has as a sum is a node below its parent, and in the sum. */
    function checkRest() {
        const data = JSON.parse(byId("data").textContent);
        const ns = data.rows[0].sides[0].inclusive_ns;
        data.rest = [[1, 7, ns]];
        data.left_out = 7;
        data.rows.slice(0, 2).forEach((row) => { row.sides[0].inclusive_ns += ns; });
        const model = Rows.of(data);
        expect(model.sums[0] === 2 * ns, "the sum has it: " + model.sums[0]);
        Frames.show(model);
        const node = byId("icicle-0").querySelector(".node.thinner[aria-label^='… 7 thinner, ']");
        expect(node !== null && Math.abs(node.getBoundingClientRect().width / byId("icicle-0").clientWidth - 0.5) < 0.01,
            "the node has its width");
        Frames.show(all());
    }

    /* The columns that matter are on the screen of a phone. */
    function checkColumns() {
        const q = byId("head").querySelector('[data-sort="q"]').getBoundingClientRect();
        expect(q.left >= 0 && q.right <= window.innerWidth, "q is on the screen, at " + q.right);
    }

    /* A name is cut in the middle, and does not repeat the service above it. */
    function checkNames() {
        const up = {service: "recommendation", up: null};
        expect(Parts.nameBelow({service: "recommendation", text: "recommendation: Rank", up: up}) === "Rank", "the service is dropped");
        expect(Parts.nameBelow({service: "ads", text: "ads: Rank", up: up}) === "ads: Rank", "another service stays");
        expect(Parts.cut("recommendation: RankByAge", 11) === "recom…ByAge", "the middle is cut");
        expect(Parts.cut("Rank", 4) === "Rank" && Parts.cut("Rank", 1) === "", "what fits stays");
    }

    function checkSafety() {
        expect(window.owned === undefined, "a name was run as a script");
        expect(document.images.length === 0, "a name became an element");
        expect(document.scripts.length === 4, "there are " + document.scripts.length + " scripts");
        expect(document.documentElement.scrollWidth <= window.innerWidth,
            "the page is wider than the window: " + document.documentElement.scrollWidth + " of " + window.innerWidth);
        expect(performance.getEntriesByType("resource").length === 0, "something was loaded");
    }

    /* Rows of edges have no graph, and all else. */
    function checkFlat() {
        expect(byId("flames").hidden && byId("flip").hidden, "there is no graph of edges");
        expect(names().includes("A -> B"), "the table lists edges: " + names());
        type("A -> B");
        expect(byId("found").textContent.startsWith("1 row found"), "edges are found");
        type("");
        byId("rows").querySelector("button").click();
        expect(byId("detail").querySelector("h3").textContent.includes("->"), "an edge has its numbers");
    }

    function checkGraph() {
        checkKeys();
        checkSearch();
        checkFlip();
        checkWidths();
        if (isPair) {
            checkColumns();
        }
        if (data.rows.length + data.brief.length > 1000) {
            checkWide();
        }
        if (data.rows.some((row) => row.lost_path)) {
            checkLost();
        }
        if (!isPair) {
            checkRest();
        }
    }

    try {
        checkSums();
        checkNames();
        if (data.by === "stack") {
            checkGraph();
        } else {
            checkFlat();
        }
        checkSafety();
    } catch (error) {
        wrong.push("failed: " + error.stack);
    }
    checkBands().catch((error) => wrong.push("failed: " + error.stack)).then(() => {
        window.parent.postMessage([...wrong, ...window.errors].join("\n") ||
            "sound at " + window.innerWidth, "*");
    });
}());
