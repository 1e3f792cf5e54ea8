"""A headless Chromium over the pipe of its DevTools protocol, with Python alone."""
import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

PROGRAMS = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
         "--remote-debugging-pipe"]
ANSWER_SECONDS = 120
TROUBLE = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")


def program():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


# The most frequent colours of a picture, and for each point the number of the nearest.
FEW_COLOURS = """(async () => {
  const image = new Image();
  image.src = %s;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), c = canvas.getContext('2d');
  c.drawImage(image, 0, 0);
  const data = c.getImageData(0, 0, image.width, image.height).data, counts = new Map(), nearest = new Map();
  const at = i => data[i] << 16 | data[i + 1] << 8 | data[i + 2];
  for (let i = 0; i < data.length; i += 4) counts.set(at(i), (counts.get(at(i)) || 0) + 1);
  const few = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(one => one[0]);
  const find = colour => {
    let best = 0, least = Infinity;
    few.forEach((other, k) => {
      const far = [16, 8, 0].reduce((sum, shift) => sum + ((colour >> shift & 255) - (other >> shift & 255)) ** 2, 0);
      if (far < least) { least = far; best = k; }
    });
    return best;
  };
  let text = '';
  for (let i = 0; i < data.length; i += 4) {
    const colour = at(i);
    if (!nearest.has(colour)) nearest.set(colour, find(colour));
    text += String.fromCharCode(nearest.get(colour));
  }
  return [image.width, image.height, few.flatMap(colour => [colour >> 16, colour >> 8 & 255, colour & 255]), btoa(text)];
})()"""


class Chromium:
    """One browser with one page. `trouble` is what the page put on its console since it was opened."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="picklock-browser-")
        read, self.write = os.pipe()
        self.read, write = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self.profile}", "about:blank"]

        def wire():
            os.dup2(read, 30)
            os.dup2(write, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        self.process = subprocess.Popen([program(), *flags], preexec_fn=wire, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.number, self.session, self.received, self.events, self.trouble = 0, None, b"", [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        deadline = time.monotonic() + ANSWER_SECONDS
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser says nothing any more")
            self.received += data
        first, self.received = self.received.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, **parameters):
        self.number += 1
        wanted = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            wanted["sessionId"] = self.session
        os.write(self.write, json.dumps(wanted).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == wanted["id"]:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.take(message)

    def take(self, message):
        self.events.append(message.get("method"))
        if message.get("method") in TROUBLE:
            self.trouble.append(json.dumps(message["params"])[:800])

    def open(self, path, width=1400, height=900, dark=False, scale=1, hash=""):
        """Open a file; gives how long it took until it was drawn, in seconds."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        self.js("1")
        self.events, self.trouble = [], []
        begun = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + hash)
        while "Page.loadEventFired" not in self.events:
            self.take(self.message())
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - begun

    def processor_seconds(self):
        """How long all processes of the browser have computed, whoever else was busy meanwhile."""
        parents, spent = {}, {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry)], spent[int(entry)] = int(fields[1]), int(fields[11]) + int(fields[12])
        total = 0
        for process in spent:
            above = process
            while above in parents and above != self.process.pid:
                above = parents[above]
            total += spent[process] if above == self.process.pid else 0
        return total / os.sysconf("SC_CLK_TCK")

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def frame(self):
        """Wait until what was asked for is drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        for turn in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=turn, key=key, modifiers=modifiers, **(text if turn == "keyDown" else {}))
        self.frame()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.frame()

    def picture(self, path, whole=False):
        """Save what is seen, or with `whole` all of the page."""
        area = {}
        if whole:
            size = self.js("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            area = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", **area)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def small_picture(self, path):
        """The same with at most 256 colours: a third of the bytes. Leaves the page."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        self.call("Page.navigate", url="about:blank")
        width, height, palette, pixels = self.js(FEW_COLOURS % json.dumps("data:image/png;base64," + data))
        rows = base64.b64decode(pixels)
        lines = b"".join(b"\0" + rows[y * width:(y + 1) * width] for y in range(height))
        chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)), (b"PLTE", bytes(palette)),
                  (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for name, body in chunks:
                file.write(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
