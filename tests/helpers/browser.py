"""A page in a real browser: Chromium, spoken to over a pipe in its own protocol."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"),
)
_PATIENCE = 60
_START = """
import fcntl, os, sys
# Chromium reads requests from 3, and answers on 4; moved away first, for they may lie there.
reads, writes = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A running Chromium with one page."""

    def __init__(self, reads, writes):
        self._reads, self._writes = reads, writes
        self._numbers, self._said, self._session = itertools.count(1), b"", None
        self.events = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        """One request and its answer; events in between are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def open(self, path, *, width=1100, height=900, dark=False):
        """Load a file, at the size of a screen; what happened before is forgotten."""
        self.events.clear()
        phone = width < 500
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=Path(path).absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def look(self, expression):
        """The value of a JavaScript expression."""
        asked = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in asked, asked
        return asked["result"].get("value")

    def text(self, selector):
        """The text of an element."""
        return self.look(f"document.querySelector({selector!r}).textContent.trim()")

    @property
    def complaints(self):
        """Whatever the console shows: errors, warnings, messages."""
        wanted = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in wanted]

    @property
    def requests(self):
        """The addresses that were asked for."""
        sent = (e for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    @property
    def overflow(self):
        """By how many pixels the page is wider than the screen."""
        return self.look("document.documentElement.scrollWidth - window.innerWidth")

    def screenshot(self, path):
        """The whole page as a picture."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def printed(self):
        """The page as it is printed, in the bytes of a PDF file."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def _next(self):
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._said:
            ready, _, _ = select.select([self._reads], [], [], max(0, end - time.monotonic()))
            assert ready, "Chromium says nothing"
            more = os.read(self._reads, 2**20)
            assert more, "Chromium is gone"
            self._said += more
        told, _, self._said = self._said.partition(b"\0")
        return json.loads(told)


@contextlib.contextmanager
def chromium():
    """A browser that ends with the block."""
    to_browser, from_browser = os.pipe(), os.pipe()
    theirs = to_browser[0], from_browser[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        profile = f"--user-data-dir={empty}"
        process = subprocess.Popen(
            [sys.executable, "-c", _START, *map(str, theirs), CHROMIUM, *_OPTIONS, profile],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=theirs,
        )
        for end in theirs:
            os.close(end)
        try:
            yield Browser(from_browser[0], to_browser[1])
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_browser[0])
            os.close(to_browser[1])
