#!/usr/bin/env python3
"""The pages that people look at, in a real browser: `run.py ./picklock`. Says so and ends well where there is none."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import chromium

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
FOUND = ["restart-forgets", "pause-after-granted", "pause-saved-by-fence", "clock-jump-one-node", "wrong/extend-no-recheck"]
# Locks of every other kind of server: sessions that are renewed, leaders, links between nodes.
KINDS = ["etcd/etcd-leader-apart", "sql/sql-failover", "zookeeper/zookeeper-cut-off", "chubby/chubby-failover-beyond-grace",
         "hazelcast/hazelcast-unsafe-split",
         "replicas/wait-other-promoted"]
RUNS = [*FOUND, "partition-ring", "contenders-20", *KINDS]
# The same on real servers: their times are the machine's, and no two are alike.
REAL = [name + " real" for name in FOUND] if shutil.which("redis-server") else []
SIZES = [(400, 800), (1000, 800), (1900, 1000)]

# What is wider than the page, or cut off in its own box without a way to see the rest.
CUT = """(() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const cut = [...document.querySelectorAll('body *')].filter(one => {
    if (one.closest('.unseen, svg, #tip, details:not([open]) > :not(summary)') || !one.getClientRects().length) return false;
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    return box.right > innerWidth + 1 || box.left < -1 || style.overflowX === 'hidden' && one.scrollWidth > one.clientWidth + 1;
  }).map(one => one.tagName + '#' + one.id + '.' + one.className);
  return JSON.stringify({wide, cut});
})()"""

# How many bars and points each kind of layer has.
COUNTS = """(() => {
  const sums = {};
  for (const [name, one] of Object.entries(LAYERS)) {
    const kind = name.replace(/[\\d/-]+$/, '');
    sums[kind] = (sums[kind] || 0) + one.count;
  }
  return JSON.stringify(sums);
})()"""


# What is written, or drawn as a line, in the colour of a violation.
RED = """(() => {
  const found = [], text = CanvasRenderingContext2D.prototype.fillText, path = CanvasRenderingContext2D.prototype.stroke;
  CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) {
    if (this.fillStyle === colour.fail) found.push(words);
    text.call(this, words, ...rest);
  };
  let lines = 0;
  CanvasRenderingContext2D.prototype.stroke = function (...rest) {
    if (this.strokeStyle === colour.fail) lines++;
    path.apply(this, rest);
  };
  draw();
  CanvasRenderingContext2D.prototype.fillText = text;
  CanvasRenderingContext2D.prototype.stroke = path;
  return JSON.stringify(lines > found.length ? [...found, lines + ' red lines'] : found);
})()"""

# Texts of one canvas that lie on each other.
TOUCH = """(() => {
  const all = [], real = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const long = this.measureText(text).width, half = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * .36;
    const left = this.textAlign === 'center' ? x - long / 2 : x;
    if (text && left > picture.gutter && left < picture.width && this.canvas !== canvases.overview)
      all.push({text, canvas: this.canvas.id, left, right: left + long, top: y - half, bottom: y + half});
    real.apply(this, arguments);
  };
  draw();
  CanvasRenderingContext2D.prototype.fillText = real;
  const touch = (a, b) => a.canvas === b.canvas && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const pairs = all.flatMap((a, k) => all.slice(k + 1).filter(b => touch(a, b)).map(b => a.text + ' | ' + b.text));
  return JSON.stringify({count: all.length, pairs, over: all.filter(one => one.right > picture.width + 1 && isNaN(one.text)).map(one => one.text)});
})()"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-pages-"))
        cls.browser = chromium.Chromium()
        cls.pages = {name: cls.run_of(*name.split()) for name in RUNS + REAL}

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def run_of(cls, name, world="sim"):
        subprocess.run([PICKLOCK, "run", SCENARIOS / (name + ".yaml"), "--world", world, "--keep", "always", "-q", "--out", cls.folder],
                       stdout=subprocess.DEVNULL, check=True)
        return cls.folder / name.split("/")[-1] / "1" / world / "report.html"

    def open(self, name, width=1400, height=900, dark=False, hash=""):
        self.browser.open(self.pages[name], width, height, dark, hash=hash)
        self.assertEqual(self.browser.trouble, [], name)

    def js(self, expression):
        return self.browser.js(expression)

    def history(self, name):
        lines = (self.pages[name].parent / "history.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines][1:]

    def span(self):
        return self.js("[timeAt(picture.gutter), timeAt(picture.width)]")


class Looks(Pages):
    def test_no_two_labels_touch(self):
        for name in RUNS + REAL:
            for width, height in SIZES:
                self.open(name, width, height)
                for turn in ("", "n", "a", "f"):
                    with self.subTest(name=name, width=width, turn=turn):
                        if turn:
                            self.browser.key(turn)
                        said = json.loads(self.js(TOUCH))
                        self.assertGreater(said["count"], 3)
                        self.assertEqual(said["pairs"], [])
                        self.assertEqual(said["over"], [])

    def test_every_page_at_every_width_light_and_dark(self):
        for name in RUNS + REAL:
            for width, height in SIZES:
                for dark in (False, True):
                    with self.subTest(name=name, width=width, dark=dark):
                        self.open(name, width, height, dark)
                        said = json.loads(self.js(CUT))
                        self.assertEqual(said["cut"], [])
                        self.assertLessEqual(said["wide"], 0)
                        ground = self.js("getComputedStyle(document.body).backgroundColor")
                        self.assertEqual(ground, "rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")

    def test_the_finding_is_on_the_screen_when_the_page_opens(self):
        for name in FOUND + REAL:
            for width, height in SIZES:
                with self.subTest(name=name, width=width):
                    self.open(name, width, height)
                    bottom = self.js("document.querySelector('h1').getBoundingClientRect().bottom")
                    self.assertLess(bottom, height / 2)
                    for x in json.loads(self.js("JSON.stringify([cause().t, ...cause().steps.map(step => step.t)].map(xOf))")):
                        self.assertGreaterEqual(x, self.js("picture.gutter") - 1)
                        self.assertLessEqual(x, self.js("picture.width"))

    def test_colours_can_be_told_and_names_can_be_read(self):
        self.open("restart-forgets")
        self.assertEqual(self.js("[colourOf(0), colourOf(1)].join()"), "#005f9e,#d98a00")
        names = json.loads(self.js("JSON.stringify(lanes.map(lane => lane.name))"))
        self.assertEqual(names, ["faults", "guarded store", "client 1", "client 2", "auditor", *[f"node {n}" for n in range(1, 6)]])

    def test_keys_of_a_cluster_have_one_lane_beside_the_nodes_that_faults_strike(self):
        for name, struck in (("etcd/etcd-leader-apart", [1, 2, 3]), ("zookeeper/zookeeper-cut-off", [1, 2, 3])):
            self.open(name, 1400, 900)
            names = json.loads(self.js("JSON.stringify(lanes.filter(lane => lane.kind === 'node').map(lane => lane.name))"))
            self.assertEqual(names, ["cluster", *[f"node {n}" for n in struck]])
            keys = [k for k, event in enumerate(self.history(name)) if event["f"] == "set"]
            self.assertIn("the cluster sets the key of r0", self.js(f"eventText({keys[0]})"))
            self.assertEqual(self.js(f"laneOfEvent({keys[0]}).name"), "cluster")
            self.assertEqual(self.js("Object.keys(LAYERS).filter(one => /^key[0-9]/.test(one)).length"), 0)
        self.open("replicas/wait-other-promoted", 1400, 900)
        self.assertFalse(self.js("lanes.some(lane => lane.name === 'cluster')"))

    def test_a_renewed_lease_is_told_and_alarms_nobody(self):
        for name in ("etcd/etcd-leader-apart", "zookeeper/zookeeper-cut-off"):
            self.open(name, 1900, 1000)
            moved = [k for k, event in enumerate(self.history(name)) if event["f"] == "moved"]
            self.assertGreater(len(moved), 3)
            self.assertIn("\u2019s lease was renewed, until ", self.js(f"eventText({moved[0]})"))
            self.assertEqual(json.loads(self.js(RED)), ["told: lost"] if "zookeeper" in name else [])
            self.assertTrue(self.js(f"hits.some(one => one.i === {moved[0]})"))

    def test_a_clock_that_moves_an_end_is_told_as_that(self):
        self.pages["clock"] = self.run_of("client-wall-clock-jump")
        self.open("clock")
        moved = [k for k, event in enumerate(self.history("clock")) if event["f"] == "moved"]
        for k in moved:
            self.assertIn("its clock moved", self.js(f"eventText({k})"))

    def test_paper_gets_light_colours_and_every_story(self):
        self.open("wrong/extend-no-recheck", dark=True)
        self.js("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.js("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertEqual(self.js("document.querySelectorAll('details.cause[open]').length"), 2)
        self.assertEqual(self.js("picture.scale"), 3)
        self.js("dispatchEvent(new Event('afterprint'))")
        paper = self.folder / "paper.pdf"
        self.browser.pdf(paper)
        self.assertEqual(paper.read_bytes()[:5], b"%PDF-")


class Numbers(Pages):
    def test_what_is_drawn_is_what_the_history_says(self):
        for name in RUNS + REAL:
            with self.subTest(name=name):
                self.open(name)
                events, sums = self.history(name), collections.Counter(json.loads(self.js(COUNTS)))
                self.assertEqual(self.js("N"), len(events))
                self.assertEqual(self.js("Array.from(TIME).join()"), ",".join(str(event["time"]) for event in events))
                ends = [e for e in events if e.get("f") == "write" and e.get("type") in ("ok", "fail", "info")]
                ends += [e for e in events if e.get("f") == "read" and e.get("type") == "fail"]
                self.assertEqual(sums["store"], len(ends))
                self.assertEqual(sums["lease"], sum(e.get("f") == "acquire" and e.get("type") == "ok" for e in events))
                self.assertEqual(sums["section"], sum(e["f"] == "enter" for e in events))
                self.assertEqual(sums["key"], sum(e["f"] in ("set", "key-back") for e in events))
                self.assertEqual(sums["wait"], sum(e.get("type") == "invoke" for e in events))
                self.assertEqual(sums["messages"], sum(e.get("kind") == "node" and "process" in e for e in events))
                starts = [e for e in events if e.get("kind") == "fault" and e["f"] == "start"]
                self.assertEqual(self.js("FAULTS.length"), len(starts))

    def test_links_between_nodes_have_both_their_ends(self):
        self.pages["cut"] = self.run_of("chubby/chubby-members-cut-off")
        self.open("cut")
        start = next(e for e in self.history("cut") if e.get("kind") == "fault" and "peers" in e)
        self.assertEqual(json.loads(self.js("JSON.stringify([FAULTS[0].peers, FAULTS[0].nodes])")),
                         [[n - 1 for n in start["peers"]], [n - 1 for n in start["nodes"]]])
        self.assertIn("partition nodes 1-2 | nodes 3-5", self.js("faultText(FAULTS[0])"))

    def test_every_field_that_a_history_has_arrives(self):
        for name in ("restart-forgets", "pause-saved-by-fence", *REAL):
            self.open(name)
            told = json.loads(self.js(
                "JSON.stringify(Array.from({length: N}, (_, i) => { const e = eventAt(i); return {p: e.process + 1, f: e.shape.f, "
                "n: e.node + 1, until: isNaN(e.until) ? null : e.until, sent: isNaN(e.sent) ? null : e.sent, fence: e.fence, "
                "replied: isNaN(e.replied) ? null : e.replied, version: e.version, basis: e.basis, v: valueText(e.value), "
                "o: valueText(e.owner)}; }))"))
            for event, said in zip(self.history(name), told):
                wanted = {"p": event.get("process", 0), "f": event["f"], "n": event.get("node", 0), "until": event.get("until"),
                          "sent": event.get("sent"), "replied": event.get("replied"), "fence": event.get("fence", 0),
                          "version": event.get("version", 0), "basis": event.get("basis", 0),
                          "v": event.get("value", "")[:6], "o": event.get("owner", "")[:6]}
                self.assertEqual(said, wanted, (name, event))

    def test_story_axis_and_lanes_have_the_same_numbers(self):
        for name in FOUND + REAL:
            self.open(name)
            steps = json.loads(self.js("JSON.stringify(cause().steps)"))
            listed = self.js("[...document.querySelectorAll('details.cause[open] [data-step] .n')].map(one => one.textContent).join()")
            self.assertEqual(listed, ",".join(str(k + 1) for k in range(len(steps))))
            lines = self.js("[...document.querySelectorAll('details.cause[open] [data-step] small')].map(one => one.textContent).join('|')")
            self.assertEqual([int(n) for n in re.findall(r"line (\d+)", lines)], [step["i"] + 2 for step in steps])
            for k, step in enumerate(steps):
                self.assertEqual(self.js(f"TIME[{step['i']}]"), step["t"])
                self.assertTrue(self.js(f"hits.some(one => one.rank === 9 && one.i === {step['i']})"), (name, k))
            moments = self.js("cause().steps.map(step => momentText(step.t)).join('|')")
            self.assertEqual([one.split("\u00b7")[0].strip() for one in lines.split("|")], moments.split("|"))


class Works(Pages):
    def test_zoom_pan_and_the_whole_run(self):
        self.open("pause-after-granted")
        before = self.span()
        self.browser.key("+")
        nearer = self.span()
        self.assertLess(nearer[1] - nearer[0], before[1] - before[0])
        self.browser.key("l")
        self.assertGreater(self.span()[0], nearer[0])
        self.browser.key("a")
        whole = self.span()
        self.assertLessEqual(whole[0], 0)
        self.assertGreaterEqual(whole[1], self.js("LAST"))
        self.browser.key("v")
        self.assertEqual(self.span(), before)
        box = json.loads(self.js("JSON.stringify(canvases.axis.getBoundingClientRect())"))
        self.browser.mouse("mouseWheel", box["x"] + 500, box["y"] + 30, deltaX=0, deltaY=-240)
        self.assertLess(self.span()[1] - self.span()[0], before[1] - before[0])

    def test_folding_says_so_and_comes_back(self):
        self.open("pause-after-granted")
        self.assertTrue(self.js("view.folded"))
        self.assertTrue(self.js("ticks().some(mark => mark.fold)"))
        self.browser.key("f")
        self.assertFalse(self.js("view.folded"))
        self.assertFalse(self.js("ticks().some(mark => mark.fold)"))
        self.assertEqual(self.js("byId('b-fold').getAttribute('aria-pressed')"), "false")
        middle = self.js("(() => { const x = xOf(LAST / 3), y = xOf(2 * LAST / 3); return (x + y) / 2 - xOf(LAST / 2); })()")
        self.assertAlmostEqual(middle, 0, places=3)

    def test_lanes_can_be_hidden_and_all_clients_shown(self):
        self.open("contenders-20")
        self.js("byId('filter').closest('details').open = true")
        self.assertEqual(self.js("lanes.filter(lane => lane.kind === 'client').length"), 21)
        self.js("[...byId('filter').children].find(one => one.title === 'client 3').click()")
        self.browser.frame()
        self.assertEqual(self.js("lanes.filter(lane => lane.kind === 'client').length"), 20)
        self.assertFalse(self.js("lanes.some(lane => lane.name === 'client 3')"))
        self.js("[...byId('filter').children].find(one => one.title === 'node 2').click()")
        self.browser.frame()
        self.assertFalse(self.js("lanes.some(lane => lane.name === 'node 2')"))

    def test_the_keyboard_reaches_events_and_says_them(self):
        self.open("restart-forgets")
        self.js("canvases.lanes.focus()")
        self.browser.key("ArrowRight")
        first = self.js("view.focus")
        self.browser.key("ArrowRight")
        self.assertGreater(self.js("view.focus"), first)
        self.browser.key("ArrowDown")
        self.assertGreaterEqual(self.js("view.focus"), 0)
        focus = self.js("view.focus")
        self.assertEqual(self.js("byId('live').textContent"), self.js(f"`${{eventText({focus})}}, ${{momentText(TIME[{focus}])}}, ${{lineOf({focus})}}`"))
        self.browser.key("]")
        self.assertEqual(self.js("view.focus"), self.js("cause().steps[0].i"))
        self.assertIn("Evidence 1: Client 1 is granted", self.js("byId('live').textContent"))
        self.browser.key("Escape")
        self.assertEqual(self.js("view.focus"), -1)

    def test_several_causes_have_each_its_numbers(self):
        self.open("wrong/extend-no-recheck")
        first = self.js("cause().steps[0].i + ' ' + cause().t")
        self.browser.key("n")
        self.assertEqual(self.js("view.cause"), 1)
        self.assertNotEqual(self.js("cause().steps[0].i + ' ' + cause().t"), first)
        self.assertEqual(self.js("[...document.querySelectorAll('details.cause')].map(one => one.open).join()"), "false,true")
        for step in json.loads(self.js("JSON.stringify(cause().steps)")):
            self.assertTrue(self.js(f"hits.some(one => one.rank === 9 && one.i === {step['i']})"), step)

    def test_a_place_can_be_sent(self):
        self.open("restart-forgets", hash="#t=500000..1500000&line=12")
        self.assertEqual([round(time) for time in self.span()], [500000, 1500000])
        self.assertEqual(self.js("view.focus"), 10)
        self.browser.key("+")
        self.js("new Promise(done => setTimeout(done, 400))")
        found = re.match(r"#t=(\d+)\.\.(\d+)&line=12", self.js("location.hash"))
        self.assertEqual([int(found[1]), int(found[2])], [round(time) for time in self.span()])

    def test_the_table_holds_what_is_in_view(self):
        self.open("restart-forgets")
        self.browser.key("a")
        self.js("byId('evd').open = true")
        self.browser.frame()
        rows = json.loads(self.js("JSON.stringify([...byId('tbl').rows].map(row => [...row.cells].map(cell => cell.textContent)))"))
        self.assertEqual(len(rows), len(self.history("restart-forgets")))
        self.assertEqual([int(row[0]) for row in rows], list(range(2, len(rows) + 2)))

    def test_pointing_tells_what_it_is(self):
        self.open("restart-forgets")
        box = json.loads(self.js("JSON.stringify(canvases.lanes.getBoundingClientRect())"))
        lane = json.loads(self.js("JSON.stringify(laneOf('client', 0))"))
        x = self.js("xOf(cause().steps[0].t)") + 150
        self.browser.mouse("mouseMoved", box["x"] + x, box["y"] + lane["y"] + 16)
        self.assertIn("client 1 enters the section of r0", self.js("byId('tip').textContent"))
        self.assertIn("line 15", self.js("byId('say').textContent"))


class Batch(Pages):
    def test_the_page_of_a_batch_at_every_width_light_and_dark(self):
        out = self.folder / "batch"
        subprocess.run([PICKLOCK, "run", *(SCENARIOS / (name + ".yaml") for name in RUNS), "--seeds", "1..50", "-q", "--out", out],
                       stdout=subprocess.DEVNULL)
        for width, height in SIZES:
            for dark in (False, True):
                self.browser.open(out / "index.html", width, height, dark)
                self.assertEqual(self.browser.trouble, [])
                said = json.loads(self.js(CUT.replace("'.unseen, ", "'.unseen, .scroll, ")))
                self.assertEqual(said, {"wide": said["wide"], "cut": []})
                self.assertLessEqual(said["wide"], 0)
                self.assertEqual(self.js("document.querySelector('h1').textContent"), f"All {50 * len(RUNS)} runs are as expected.")
                self.assertEqual(self.js("document.querySelectorAll('svg rect').length > 100"), True)

    def test_its_links_lead_to_pages_that_work(self):
        out = self.folder / "linked"
        subprocess.run([PICKLOCK, "run", SCENARIOS / "restart-forgets.yaml", "--seeds", "1..2", "-q", "--out", out], stdout=subprocess.DEVNULL)
        self.browser.open(out / "index.html")
        link = self.js("document.querySelector('th[scope] a').getAttribute('href')")
        self.browser.open(out / link)
        self.assertEqual(self.browser.trouble, [])
        self.assertEqual(self.js("META.causes.length"), 1)


class Foreign(Pages):
    def test_only_the_arrival_of_a_command_and_what_the_recorder_missed(self):
        head = {"format": "picklock-history", "version": 1, "seed": 1, "nodes": 1, "clients": 1}
        events = [{"time": 0, "process": 1, "type": "invoke", "f": "acquire", "resource": "r0"},
                  {"time": 5000, "kind": "node", "process": 1, "f": "set", "node": 1, "resource": "r0", "value": "aa", "command": "set"},
                  {"time": 9000, "process": 1, "type": "ok", "f": "acquire", "resource": "r0", "until": 90000, "value": "aa"},
                  {"time": 9000000, "kind": "late", "f": "stood-still", "cause": "loop", "numbers": [4000000, 0]}]
        history, page = self.folder / "real.jsonl", self.folder / "real.html"
        history.write_text("".join(json.dumps(line) + "\n" for line in [head, *events]))
        subprocess.run([PICKLOCK, "show", history, "--html", page], stdout=subprocess.DEVNULL)
        self.browser.open(page)
        self.assertEqual(self.browser.trouble, [])
        self.assertEqual(self.js("LAYERS.messages.count"), 1)
        self.assertEqual(json.loads(self.js("JSON.stringify(LATE.map(one => [one.from, one.to]))")), [[5000000, 9000000]])
        self.js("lookAtTimes(0, 10000)")
        self.browser.frame()
        self.assertEqual(self.browser.trouble, [])

    def test_times_since_1970_and_processes_from_0(self):
        lines, start = [], 1_700_000_000_000_000_000
        for process in (0, 1):
            for k, kind in enumerate((":invoke", ":ok")):
                lines.append("{:process %d, :type %s, :f :acquire, :value nil, :time %d}" % (process, kind, start + 1000 * (process * 2 + k)))
        history, page = self.folder / "far.edn", self.folder / "far.html"
        history.write_text("\n".join(lines) + "\n")
        subprocess.run([PICKLOCK, "show", history, "--html", page], stdout=subprocess.DEVNULL)
        self.browser.open(page)
        self.assertEqual(self.browser.trouble, [])
        self.assertEqual(self.js("Array.from(TIME).join()"), "0,1000,2000,3000")
        self.assertIn("process 0", self.js("lanes.map(lane => lane.name).join()"))


class Hostile(Pages):
    def test_names_are_shown_and_not_obeyed(self):
        evil = "</script><img src=x onerror=alert(1)>\u202e\u001b[2J&amp;"
        head = {"format": "picklock-history", "version": 1, "seed": 1, "scenario": evil[:60], "nodes": 1, "clients": 2}
        events = [{"time": 0, "process": 1, "type": "invoke", "f": "acquire", "resource": evil},
                  {"time": 5, "process": 1, "type": "ok", "f": "acquire", "resource": evil, "until": 10000, "value": "aa"},
                  {"time": 6, "process": 2, "type": "invoke", "f": "acquire", "resource": evil},
                  {"time": 9, "process": 2, "type": "ok", "f": "acquire", "resource": evil, "until": 20000, "value": "bb"}]
        history, page = self.folder / "evil.jsonl", self.folder / "evil.html"
        history.write_text("".join(json.dumps(line) + "\n" for line in [head, *events]))
        subprocess.run([PICKLOCK, "show", history, "--html", page], stdout=subprocess.DEVNULL)
        self.browser.open(page)
        self.assertEqual(self.browser.trouble, [])
        self.assertEqual(self.js("document.images.length"), 0)
        self.assertEqual(self.js("document.querySelectorAll('script').length"), 4)
        self.assertIn("</script><img src=x onerror=alert(1)>\\u202e", self.js("document.querySelector('h1').textContent"))
        self.assertIn("\\u202e", self.js("eventText(0)"))

    def test_hundreds_of_clients_stay_in_a_window(self):
        head = {"format": "picklock-history", "version": 1, "seed": 1, "nodes": 5, "clients": 300}
        lines, time = [head], 0
        for turn in range(900):
            client = turn % 300 + 1
            for more in ({"type": "invoke"}, {"type": "ok", "until": time + 5000, "value": "%040x" % turn}):
                lines.append({"time": time, "process": client, "f": "acquire", "resource": "r0", **more})
                time += 100
            lines.append({"time": time, "process": client, "f": "release", "resource": "r0", "type": "invoke"})
            lines.append({"time": time + 50, "process": client, "f": "release", "resource": "r0", "type": "ok"})
            time += 100
        history, page = self.folder / "many.jsonl", self.folder / "many.html"
        history.write_text("".join(json.dumps(line) + "\n" for line in lines))
        subprocess.run([PICKLOCK, "show", history, "--html", page], stdout=subprocess.DEVNULL)
        self.browser.open(page, 1000, 800)
        self.assertEqual(self.browser.trouble, [])
        self.assertTrue(self.js("lanes.some(lane => lane.kind === 'more')"))
        self.js("showAllClients(true)")
        self.browser.frame()
        self.assertEqual(self.js("lanes.filter(lane => lane.kind === 'client').length"), 300)
        self.assertLess(self.js("canvases.lanes.height"), 1000)
        self.js("scroller.scrollTop = 5000")
        self.browser.frame()
        self.js("canvases.lanes.focus(); focusOn(firstAtLeast(TIME, LAST) )")
        self.assertEqual(self.browser.trouble, [])


if __name__ == "__main__":
    if chromium.program() is None:
        print("browser: skipped: no chromium here (Debian: apt-get install chromium)")
        sys.exit(0)
    unittest.main(verbosity=1)
