"""Small SVG plots: lines, bars and heat maps, with nothing but strings."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48
COLORS = ["#4477aa", "#ee6677", "#228833", "#aa8800", "#66aacc", "#aa3377", "#777777", "#000000", "#dd7722", "#5544bb",
           "#99bb33", "#bb8899"]


def text(x, y, words, anchor="middle", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(str(words))}</text>'


def line(x1, y1, x2, y2, color="#dddddd", width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}"/>')


def page(width, height, title, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" fill="#222222">')
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
                      text(width / 2, 22, title, size=15), *parts, "</svg>\n"])


def number(value):
    if value and abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:,.6g}"


def even_ticks(low, high, wanted=6):
    raw = (high - low) / wanted
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high):
    factors = (1, 2, 5) if high / low < 200 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for tick in (factor * 10.0 ** power for factor in factors)
            if low * 0.999 <= tick <= high * 1.001]


class Axis:
    """Values from `low` to `high` on places from `begin` to `end`."""

    def __init__(self, values, begin, end, log=False, zero=False):
        low, high = min(values), max(values)
        if log:
            low, high = low / 1.1, high * 1.1
        else:
            low = min(low, 0) if zero else low
            margin = (high - low or abs(high) or 1) * 0.05
            low, high = low - (margin if low and not zero or low < 0 else 0), high + margin
        self.low, self.high, self.begin, self.end, self.log = low, high, begin, end, log

    def place(self, value):
        scale = math.log if self.log else float
        part = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        return log_ticks(self.low, self.high) if self.log else even_ticks(self.low, self.high)


def frame(x, y, x_label, y_label):
    parts = []
    for tick in y.ticks():
        parts += [line(LEFT, y.place(tick), WIDTH - RIGHT, y.place(tick)),
                  text(LEFT - 6, y.place(tick) + 4, number(tick), "end", 11)]
    for tick in x.ticks():
        parts.append(text(x.place(tick), HEIGHT - BOTTOM + 16, number(tick), size=11))
    parts += [line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#222222"),
              text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label),
              text(0, 0, y_label, more=f' transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)"')]
    return parts


def apart(places, bottom, least=14):
    """The same order, moved down, and up again from `bottom`, where labels would cover each other."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for above, here in zip(order, order[1:]):
        moved[here] = max(moved[here], moved[above] + least)
    for i in reversed(order):
        moved[i] = min(moved[i], bottom)
        bottom = moved[i] - least
    return moved


def lines(title, x_label, y_label, series, log_y=False, zero=False):
    """`series`: names with their [(x, y), ...]."""
    x = Axis([point[0] for points in series.values() for point in points], LEFT, WIDTH - RIGHT)
    y = Axis([point[1] for points in series.values() for point in points], HEIGHT - BOTTOM, TOP, log_y, zero)
    parts = frame(x, y, x_label, y_label)
    ends = apart([y.place(points[-1][1]) for points in series.values()], HEIGHT - BOTTOM)
    for (name, points), end, color in zip(series.items(), ends, COLORS * len(series)):
        path = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        if len(points) <= 16:
            parts += [f'<circle cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="3" fill="{color}"/>' for a, b in points]
        parts.append(text(WIDTH - RIGHT + 8, end + 4, name, "start", 12, f' style="fill:{color}"'))
    return page(WIDTH, HEIGHT, title, parts)


def bars(title, label, values, notes, log=False):
    """Lying bars: `values` by name, and a note behind each."""
    height = TOP + 30 * len(values) + BOTTOM
    edge = max(110, 7 * max(map(len, values)) + 12)
    x = Axis(list(values.values()), edge, WIDTH - RIGHT, log, zero=not log)
    parts = []
    for tick in x.ticks():
        parts += [line(x.place(tick), TOP, x.place(tick), height - BOTTOM),
                  text(x.place(tick), height - BOTTOM + 16, number(tick), size=11)]
    for i, (name, value) in enumerate(values.items()):
        middle, begin = TOP + 30 * i + 15, x.begin if log else x.place(0)
        left, width = min(begin, x.place(value)), abs(x.place(value) - begin)
        parts += [f'<rect x="{left:.1f}" y="{middle - 9}" width="{width:.1f}" height="18" fill="{COLORS[0]}"/>',
                  text(edge - 8, middle + 4, name, "end"), text(left + width + 6, middle + 4, notes[name], "start", 11)]
    parts.append(text((edge + WIDTH - RIGHT) / 2, height - 10, label))
    return page(WIDTH, height, title, parts)


def shade(part):
    """From red over yellow to green."""
    red, green = (220, 60 + 320 * part) if part < 0.5 else (440 * (1 - part), 220 - 60 * (part - 0.5))
    return f"rgb({min(220, red):.0f},{min(220, green):.0f},80)"


def heat(title, panels, columns, rows, column_label, row_label):
    """`panels`: for each name the share in [0, 1] by (row, column)."""
    cell_width, cell_height, per_line = 44, 22, 4
    width_of, height_of = cell_width * len(columns) + 64, cell_height * len(rows) + 64
    across = min(per_line, len(panels))
    width, height = max(360, width_of * across + 24), 40 + height_of * math.ceil(len(panels) / per_line) + 24
    parts = [text(width / 2, height - 8, f"{row_label} (down) and {column_label} (across)")]
    for place, (name, cells) in enumerate(panels.items()):
        left, top = 56 + width_of * (place % per_line), 60 + height_of * (place // per_line)
        parts.append(text(left + cell_width * len(columns) / 2, top - 8, name, size=13))
        for i, row in enumerate(rows):
            parts.append(text(left - 6, top + cell_height * i + 15, f"{row:.0%}", "end", 11))
            for j, column in enumerate(columns):
                share = cells.get((row, column))
                if share is None:
                    continue
                parts += [f'<rect x="{left + cell_width * j}" y="{top + cell_height * i}" width="{cell_width - 2}" '
                          f'height="{cell_height - 2}" fill="{shade(share)}"/>',
                          text(left + cell_width * (j + 0.5) - 1, top + cell_height * i + 15, f"{share:.0%}", size=11)]
        for j, column in enumerate(columns):
            parts.append(text(left + cell_width * (j + 0.5), top + cell_height * len(rows) + 14, column, size=11))
    return page(width, height, title, parts)
