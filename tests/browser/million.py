"""A history of a million events: two runs of the simulator, one repeated, one in the middle with its violation."""
import json
import pathlib
import subprocess

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
CALM, BROKEN = "contenders-20", "restart-forgets"
PAUSE_NS = 5_000_000


def run(picklock, scenario, folder):
    subprocess.run([picklock, "run", SCENARIOS / (scenario + ".yaml"), "--keep", "always", "--out", folder, "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    lines = (pathlib.Path(folder) / scenario / "1" / "sim" / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def body(events, auditor):
    """What may stand several times in one history."""
    return [event for event in events if event.get("kind") not in ("phase", "client") and event.get("process") != auditor]


class Writer:
    def __init__(self, file):
        self.file, self.index, self.offset, self.version = file, 0, 0, 0

    def add(self, events, length, turn):
        most = 0
        for event in events:
            event = dict(event, index=self.index, time=event["time"] + self.offset)
            for key in ("until", "sent", "replied"):
                if key in event:
                    event[key] += self.offset
            for key in ("value", "owner"):
                if key in event:
                    event[key] = event[key][:32] + "%08x" % turn
            for key in ("version", "basis"):
                if key in event:
                    most = max(most, event[key])
                    event[key] += self.version
            self.file.write(json.dumps(event, separators=(",", ":")) + "\n")
            self.index += 1
        self.offset += length + PAUSE_NS
        self.version += most


def write(picklock, folder, wanted, path):
    """Write it; gives how many events it has."""
    calm, broken = run(picklock, CALM, folder), run(picklock, BROKEN, folder)
    head, step = dict(calm[0], scenario="million", faults=broken[0]["faults"]), calm[-1]["time"]
    calm, broken, length = body(calm[1:], 21), body(broken[1:], 3), broken[-1]["time"]
    with open(path, "w") as file:
        file.write(json.dumps(head, separators=(",", ":")) + "\n")
        writer, turn, told = Writer(file), 0, False
        while writer.index < wanted:
            if writer.index > wanted // 2 and not told:
                writer.add(broken, length, turn)
                told = True
            writer.add(calm, step, turn + 1)
            turn += 2
        end = {"index": writer.index, "time": writer.offset, "kind": "phase", "f": "run-end", "cause": "all-done"}
        file.write(json.dumps(end, separators=(",", ":")) + "\n")
        return writer.index + 1
