"""Reads the trace files that cogen::chrome_trace writes."""

import json


def events(text):
    """All events, also of a trace whose writer died: the last line may be cut short then."""
    lines = text.rstrip().removesuffix("]").rstrip().removesuffix(",").splitlines()
    try:
        return json.loads("\n".join(lines) + "]")
    except json.JSONDecodeError:
        return json.loads("\n".join(lines[:-1]).rstrip().removesuffix(",") + "]")


class Trace:
    """Times in seconds since the first event, in whatever order the file has them.

    slots: for each slot its [(request, begin, end)]; prefills: for each slot its [(request, begin, end)]
    steps: [(begin, end, rows)]; counters: for each name its [(time, value)]
    """

    def __init__(self, text):
        found = [each for each in events(text) if "ts" in each]
        if not found:
            raise ValueError("the trace has no events")
        first = min(each["ts"] for each in found)
        self.end = max(each["ts"] + each.get("dur", 0) for each in found) - first
        self.slots, self.prefills, self.steps, self.counters = {}, {}, [], {}
        opened = {}
        for each in sorted(found, key=lambda event: event["ts"]):
            begin = each["ts"] - first
            getattr(self, f"_take_{each['ph']}", lambda *_: None)(each, begin, opened)
        for slot, (request, begin) in opened.items():
            self.slots[slot].append((request, begin, self.end))
        self._in_seconds()

    def _take_B(self, event, begin, opened):
        slot = event["tid"] - 1
        self.slots.setdefault(slot, [])
        opened[slot] = (event["name"].removeprefix("request "), begin)

    def _take_E(self, event, end, opened):
        slot = event["tid"] - 1
        request, begin = opened.pop(slot)
        self.slots[slot].append((request, begin, end))

    def _take_X(self, event, begin, opened):
        end = begin + event["dur"]
        if event["tid"] == 0:
            self.steps.append((begin, end, event["args"]["rows"]))
        else:
            slot = event["tid"] - 1
            self.prefills.setdefault(slot, []).append((opened[slot][0], begin, end))

    def _take_C(self, event, at, _):
        self.counters.setdefault(event["name"], []).append((at, next(iter(event["args"].values()))))

    def _in_seconds(self):
        self.end /= 1e6
        for table in (self.slots, self.prefills):
            for slot, spans in table.items():
                table[slot] = [(request, begin / 1e6, end / 1e6) for request, begin, end in spans]
        self.steps = [(begin / 1e6, end / 1e6, rows) for begin, end, rows in self.steps]
        self.counters = {name: [(at / 1e6, value) for at, value in points] for name, points in self.counters.items()}
