#!/usr/bin/env python3
"""Draws slots, batch size and cache memory over time from a trace that cogen::chrome_trace wrote."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "caches"))
import chart  # noqa: E402
import trace_file  # noqa: E402

WIDTH, LEFT, RIGHT, TOP, GAP, BOTTOM = 960, 64, 150, 44, 40, 48
COLORS = [each for each in chart.COLORS if each != "#000000"]
MIB = 1 << 20
STYLE = """<style>
.page { fill: #ffffff } .words { fill: #222222 } .grid { stroke: #dddddd } .axis { stroke: #222222 }
.batch { fill: #4477aa; stroke: none; opacity: 0.55 } .slots { stroke: #228833 } .waiting { stroke: #dd5566 }
.preempted { stroke: #aa8800 } .cache { fill: #5544bb; stroke: none; opacity: 0.55 }
.slots, .waiting, .preempted { fill: none; stroke-width: 1.6 } .runs { opacity: 0.45 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .words { fill: #d0d7de } .grid { stroke: #30363d } .axis { stroke: #8b949e }
.batch { fill: #66aadd } .slots { stroke: #55bb66 } .waiting { stroke: #ff7788 } .preempted { stroke: #ddbb33 }
.cache { fill: #9988ee } .runs { opacity: 0.6 } }
</style>"""


def words(x, y, what, anchor="middle", size=12, more=""):
    return chart.text(x, y, what, anchor, size, f' class="words"{more}')


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def box(x, y, width, height, more):
    return f'<rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 0.3):.2f}" height="{height:.1f}" {more}/>'


class Panel:
    """A strip of the plot, `height` high from `top` on, over `seconds`."""

    def __init__(self, top, height, seconds, highest=1):
        self.top, self.bottom, self.seconds, self.highest = top, top + height, seconds, highest

    def x(self, time):
        return LEFT + time / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return self.bottom - value / self.highest * (self.bottom - self.top)

    def frame(self, label):
        parts = [words(0, 0, label, more=f' transform="translate(16 {(self.top + self.bottom) / 2:.0f}) rotate(-90)"'),
                 line(LEFT, self.bottom, WIDTH - RIGHT, self.bottom, "axis")]
        for tick in chart.even_ticks(0, self.seconds, 8):
            parts.append(line(self.x(tick), self.top, self.x(tick), self.bottom, "grid"))
        return parts

    def scale(self):
        parts = []
        for tick in chart.even_ticks(0, self.highest, 4):
            parts += [line(LEFT, self.y(tick), WIDTH - RIGHT, self.y(tick), "grid"),
                      words(LEFT - 6, self.y(tick) + 4, chart.number(tick), "end", 11)]
        return parts

    def stairs(self, points, kind, closed=False):
        """Each value holds until the next one."""
        path = []
        for (time, value), (until, _) in zip(points, points[1:] + [(self.seconds, 0)]):
            path += [f"{self.x(time):.1f},{self.y(value):.1f}", f"{self.x(until):.1f},{self.y(value):.1f}"]
        if closed:
            path = [f"{LEFT},{self.bottom:.1f}", *path, f"{self.x(self.seconds):.1f},{self.bottom:.1f}"]
        return f'<poly{"gon" if closed else "line"} points="{" ".join(path)}" class="{kind}"/>'

    def legend(self, place, kind, name):
        x, y = WIDTH - RIGHT + 12, self.top + 12 + 18 * place
        mark = line(x, y, x + 14, y, kind) if kind in ("slots", "waiting", "preempted") else \
            box(x, y - 5, 14, 10, f'class="{kind}"')
        return mark + words(x + 20, y + 4, name, "start")


def batch(steps, pause):
    """[(time, rows)]; 0 between steps that are more than `pause` apart."""
    points = [(0, 0)]
    for i, (begin, end, rows) in enumerate(steps):
        points.append((begin, rows))
        if i + 1 == len(steps) or steps[i + 1][0] - end > pause:
            points.append((end, 0))
    return [point for before, point in zip([(0, None)] + points, points) if before[1] != point[1]]


def draw_slots(found, panel):
    count = max(found.slots, default=0) + 1
    row = (panel.bottom - panel.top) / count
    parts = panel.frame("slot")
    for slot in range(count):
        top = panel.top + row * slot
        if count <= 16 or slot % 8 == 0:
            parts.append(words(LEFT - 6, top + row / 2 + 4, slot, "end", 11))
        for spans, kind in ((found.slots, "runs"), (found.prefills, "prefills")):
            for request, begin, end in spans.get(slot, []):
                color = COLORS[int(request) % len(COLORS)]
                x, width = panel.x(begin), panel.x(end) - panel.x(begin)
                parts.append(box(x, top + 1, width, row - 2, f'class="{kind}" fill="{color}"'))
                if kind == "runs" and width > 22 and row >= 12:
                    parts.append(words(x + width / 2, top + row / 2 + 4, request, size=10))
    grey = 'fill="#888888"'
    x, y = WIDTH - RIGHT + 12, panel.top
    parts += [box(x, y + 7, 14, 10, grey), words(x + 20, y + 16, "prefill", "start"),
              box(x, y + 25, 14, 10, f'class="runs" {grey}'), words(x + 20, y + 34, "request, by id", "start")]
    return parts


def draw_batch(found, panel):
    lines = {"slots": "slots in use", "waiting": "waiting", "preempted": "preempted"}
    shown = {kind: found.counters[name] for kind, name in lines.items()
             if any(value for _, value in found.counters.get(name, []))}
    rows = batch(found.steps, pause=max(1e-3, found.end / 500))
    panel.highest = 1.08 * max([1, *(n for _, n in rows), *(n for points in shown.values() for _, n in points)])
    parts = panel.frame("sequences") + panel.scale() + [panel.stairs(rows, "batch", closed=True)]
    parts += [panel.stairs(points, kind) for kind, points in shown.items()]
    parts.append(panel.legend(0, "batch", "batch size"))
    return parts + [panel.legend(i, kind, lines[kind]) for i, kind in enumerate(shown, 1)]


def draw_cache(found, panel):
    points = [(at, value / MIB) for at, value in found.counters.get("cache", [(0, 0)])]
    panel.highest = 1.08 * max(value for _, value in points) or 1
    return [*panel.frame("MiB"), *panel.scale(), panel.stairs(points, "cache", closed=True),
            panel.legend(0, "cache", "cache set aside")]


def plot(found, title):
    slots = max(found.slots, default=0) + 1
    upper = Panel(TOP, min(18 * slots, max(4 * slots, 320)), found.end)
    middle = Panel(upper.bottom + GAP, 130, found.end)
    lower = Panel(middle.bottom + GAP, 80, found.end)
    height = lower.bottom + BOTTOM
    parts = [STYLE, f'<rect width="{WIDTH}" height="{height}" class="page"/>',
             words((LEFT + WIDTH - RIGHT) / 2, 24, title, size=15)]
    parts += draw_slots(found, upper) + draw_batch(found, middle) + draw_cache(found, lower)
    for tick in chart.even_ticks(0, found.end, 8):
        parts.append(words(lower.x(tick), lower.bottom + 16, chart.number(tick), size=11))
    parts.append(words((LEFT + WIDTH - RIGHT) / 2, height - 12, "seconds"))
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" font-family="sans-serif">', *parts, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=pathlib.Path, help="what --trace of bench/throughput or examples/demo wrote")
    parser.add_argument("out", type=pathlib.Path, help="the SVG file to write")
    parser.add_argument("--title", default="Slots, batch size and memory over time")
    wanted = parser.parse_args()
    wanted.out.write_text(plot(trace_file.Trace(wanted.trace.read_text()), wanted.title))


if __name__ == "__main__":
    main()
