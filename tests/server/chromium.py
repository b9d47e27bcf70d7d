"""Drives a headless Chromium over its debugging pipe, with nothing but Python: https://chromedevtools.github.io/devtools-protocol/"""
import base64
import json
import os
import shutil
import subprocess
import tempfile

KEYS = {"Enter": (13, "\r"), "Escape": (27, None), "ArrowUp": (38, None), "Delete": (46, None)}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


def find():
    """The path of Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """The browser, with a profile of its own; killed at the end."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_end, self.commands = os.pipe()
        self.answers, write_end = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update", "--lang=en-US",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{read_end} 4>&{write_end}', find(), *options, "about:blank"],
            pass_fds=(read_end, write_end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_end)
        os.close(write_end)
        self.sent = 0
        self.rest = b""
        self.errors = []  # what pages have logged as errors, and exceptions that nothing caught
        return self

    def __exit__(self, *ignored):
        os.close(self.commands)
        self.process.kill()
        self.process.wait()
        os.close(self.answers)
        self.profile.cleanup()

    def call(self, method, session=None, **parameters):
        """The result of a command of the protocol."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self):
        while b"\0" not in self.rest:
            received = os.read(self.answers, 1 << 20)
            if not received:
                raise RuntimeError("Chromium has ended")
            self.rest += received
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        self._note_error(message)
        return message

    def _note_error(self, message):
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"]["exception"]["description"])

    def open(self, address, width=1280, height=860, scheme="light", phone=False):
        """A new tab, which shares no storage with others."""
        return Page(self, address, width, height, scheme, phone)


class Page:
    """One tab."""

    def __init__(self, browser, address, width, height, scheme, phone):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.scheme(scheme)
        self.go(address)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def go(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def reload(self):
        self.evaluate("window.before_reload = true")
        self.call("Page.reload")
        self.until("document.readyState === 'complete' && !window.before_reload")

    def evaluate(self, expression):
        """The value of an expression of JavaScript, waiting for it if it is a promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['exception'].get('description', result)}")
        return result["result"].get("value")

    def until(self, expression):
        """Waits until an expression is true, also across a reload, and returns its value."""
        waiting = f"new Promise((done) => {{ const look = () => {{ const value = {expression}; value ? done(value) : setTimeout(look, 20); }}; look(); }})"
        while True:
            try:
                return self.evaluate(waiting)
            except RuntimeError as error:
                if "navigated" not in str(error) and "context" not in str(error).lower():
                    raise

    def press(self, key):
        """Presses a key, such as Enter or Alt+KeyN, as a keyboard would."""
        *modifiers, name = key.split("+")
        code, text = KEYS.get(name, (0, None))
        event = {"key": name.removeprefix("Key").lower() if name.startswith("Key") else name, "code": name, "windowsVirtualKeyCode": code,
                 "modifiers": sum(MODIFIERS[each] for each in modifiers)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks the middle of the first visible element."""
        x, y = self.until(f"""(() => {{
            const element = [...document.querySelectorAll({json.dumps(selector)})].find((each) => each.checkVisibility());
            if (!element || element.disabled) return undefined;
            element.scrollIntoView({{block: "nearest"}});
            const box = element.getBoundingClientRect();
            return box.width ? [box.x + box.width / 2, box.y + box.height / 2] : undefined;
        }})()""")
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path, quality=None):
        kind = {"format": "png"} if quality is None else {"format": "jpeg", "quality": quality}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **kind)["data"]))
