# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""browser.py - Chromium without a screen, with a mouse and a keyboard

    with Browser(profile_folder) as browser:
        page = browser.page()
        page.open("http://127.0.0.1:8000/")
        page.until("document.title !== ''")
        page.click("#more")
        page.press("Tab", "Enter")

Commands go through a pipe (the DevTools protocol), so clicks and keys are those of a
person: they go where the focus is, and do what the browser does with them.
"""
import json
import os
import shutil
import subprocess
import time

KEYS = {
    "Tab": (9, None), "Enter": (13, "\r"), "Escape": (27, None), "ArrowLeft": (37, None),
    "ArrowUp": (38, None), "ArrowRight": (39, None), "ArrowDown": (40, None),
    "Home": (36, None), "End": (35, None), " ": (32, " "),
}
TIMEOUT_S = 60


class Failure(Exception):
    """What was expected does not hold."""


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.errors = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failure("%s: %s" % (expression, answer["exceptionDetails"].get(
                "exception", {}).get("description")))
        return answer["result"].get("value")

    def until(self, expression, what=None):
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                if self.ask(expression):
                    return
            except Failure:  # the page is being replaced
                if time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                raise Failure("never: %s" % (what or expression))
            time.sleep(0.05)

    def expect(self, expression, what):
        if not self.ask(expression):
            raise Failure("not so: %s (%s)" % (what, expression))

    def place(self, selector, across=0.5, down=0.5):
        box = self.ask("(() => { const at = document.querySelector(%s); if (!at) return null;"
                       "at.scrollIntoView({block: 'center'}); const box = at.getBoundingClientRect();"
                       "return [box.left, box.top, box.width, box.height]; })()"
                       % json.dumps(selector))
        if box is None:
            raise Failure("there is no %s" % selector)
        return box[0] + box[2] * across, box[1] + box[3] * down

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                  buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def click(self, selector):
        x, y = self.place(selector)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def drag(self, selector, begin, end):
        x, y = self.place(selector, begin)
        to, _ = self.place(selector, end)
        self.mouse("mousePressed", x, y)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to - x) * step / 5, y)
        self.mouse("mouseReleased", to, y)

    def press(self, *keys):
        for key in keys:
            code, text = KEYS.get(key, (0, key))
            event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            if text is not None:
                event["text"] = text
            self.call("Input.dispatchKeyEvent", type="keyDown", **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                      windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def size(self, width, height, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=is_phone)

    def prefer(self, **features):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-" + name.replace("_", "-"), "value": value}
            for name, value in features.items()])


class Browser:
    def __init__(self, folder):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise FileNotFoundError("chromium")
        our_read, its_write = os.pipe()
        its_read, our_write = os.pipe()

        def wire():  # the browser reads commands from 3, and writes to 4
            its = os.dup(its_write)
            os.dup2(its_read, 3)
            os.dup2(its, 4)

        self.log = open(os.path.join(folder, "browser.log"), "wb")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"],
            stdout=self.log, stderr=self.log, preexec_fn=wire, close_fds=False)
        os.close(its_write)
        os.close(its_read)
        self.reading = our_read
        self.writing = our_write
        self.buffer = b""
        self.number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.reading, 1 << 16)
            if not piece:
                raise Failure("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        """Keeps what a page complains of."""
        page = self.pages.get(message.get("sessionId"))
        parameters = message.get("params", {})
        if page is None:
            return
        if message.get("method") == "Runtime.exceptionThrown":
            page.errors.append(str(parameters["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded":
            entry = parameters["entry"]
            if entry["level"] == "error" and "api/" not in entry.get("url", ""):
                page.errors.append(entry["text"])

    def call(self, method, parameters=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") != self.number:
                self.note(answer)
                continue
            if "error" in answer:
                raise Failure("%s: %s" % (method, answer["error"]["message"]))
            return answer["result"]

    def page(self):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget",
                            {"targetId": target, "flatten": True})["sessionId"]
        self.pages[session] = Page(self, session)
        return self.pages[session]
