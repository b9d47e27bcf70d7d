"""The Markdown page of a session."""

import host
import limit_fractions
import limits
import model_shape
from markdown import table

OURS = ["cogen int8", "cogen int8, int8 cache", "cogen float32"]


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(spread):
    return "{:.2f} ({:.2f}–{:.2f})".format(*spread)


def compared(results, part, field, first_head, least=False, name_of=lambda cell: cell, cells=None):
    """A line for each cell: every system, which peer is best, and how many times as good cogen is."""
    ours = [name for name in OURS if name in results.systems]
    taking_part = [system for system in results.systems
                   if any(results.has(part, cell, system) for cell in results.cells(part))]
    rows = []
    for cell in cells or results.cells(part):
        best = results.best_peer(part, cell, field, least)
        row = [name_of(cell)] + [shown(results.median(part, cell, system, field))
                                 if results.has(part, cell, system) else "–" for system in taking_part]
        rows.append(row + [best or "–"] + [against(results, part, cell, name, best, field, least) for name in ours])
    return table([first_head, *taking_part, "best peer"] + [f"{name}: times as good" for name in ours], rows)


def against(results, part, cell, ours, best, field, least):
    if best is None or not results.has(part, cell, ours):
        return "–"
    pair = [(ours, field, ""), (best, field, "")]
    return ratio(results.spread(part, cell, *(pair[::-1] if least else pair)))


def decode(results):
    contexts = dict.fromkeys(cell.split(" x ")[1] for cell in results.cells("decode"))
    for context in contexts:
        these = [cell for cell in results.cells("decode") if cell.endswith(f" x {context}")]
        yield f"Decoding, tokens/s of all requests together, after prompts of {context} tokens.\n"
        yield compared(results, "decode", "tokens_per_second", "requests", cells=these,
                       name_of=lambda cell: cell.split(" x ")[0])


def prefill(results):
    yield "Reading one prompt, tokens/s until the first token.\n"
    yield compared(results, "prefill", "tokens_per_second", "prompt")


def arrivals(results):
    chosen = [each for each in results.records if each["what"] == "capacity" and "chosen" in each]
    if chosen:
        yield (f"Requests (128 prompt tokens, 64 new ones) that arrive as a Poisson process; load 1 is "
               f"{chosen[-1]['requests_per_second']:.2f} requests/s, which {chosen[-1]['chosen']} brings to an end with "
               "16 at a time.\n")
    for field, title, least in [("first_p50", "First token, median, ms", True),
                                ("first_p99", "First token, 99 %, ms", True), ("gap_p50", "Between tokens, median, ms", True),
                                ("gap_p99", "Between tokens, 99 %, ms", True), ("tokens_per_second", "Tokens/s", False)]:
        yield f"{title}.\n"
        yield compared(results, "arrivals", field, "", least)


def background(results):
    yield ("Decoding after prompts of 64 tokens beside a busy process of low priority (nice 10) for each processor: "
           "tokens/s alone, beside them, and the share that is left within a block.\n")
    cells = results.cells("background")
    rows = []
    field = "tokens_per_second"
    for system in results.systems:
        row = [system]
        for cell in cells:
            if not results.has("background", cell, system, "busy"):
                row += ["–"] * 3
                continue
            row += [shown(results.median("background", cell, system, field, which)) for which in ("quiet", "busy")]
            row.append("{:.0%} ({:.0%}–{:.0%})".format(
                *results.spread("background", cell, (system, field, "busy"), (system, field, "quiet"))))
        if set(row[1:]) != {"–"}:
            rows.append(row)
    yield table([""] + [head for cell in cells for head in (f"{cell}: alone", "beside", "share")], rows)


def memory(results):
    yield ("Peak memory of the process, MiB (VmHWM; pages of the model's file count where they are mapped), what of its "
           "memory at the end is its own (RssAnon), and what the program weighed before it loaded the model: its "
           "libraries.\n")
    cells = results.cells("memory")
    rows = []
    for system in [each for each in results.systems if results.has("memory", cells[0], each)]:
        row = [system]
        for cell in cells:
            row += [f"{results.median('memory', cell, system, field):,.0f}" for field in ("peak", "anonymous")]
        hello = results.median("memory", cells[0], system, "hello")
        least = results.median("memory", cells[0], system, "peak") - hello
        rows.append(row + [f"{hello:,.0f}", f"{least:,.0f}"])
    yield table([""] + [head for cell in cells for head in (f"{cell}: peak", "own")] +
                ["before loading", f"{cells[0]}: peak without that"], rows)


def loading(results):
    yield ("Seconds from the start of the process, its file read before: until the program runs (of which Python's "
           "imports), until the model is ready, and until the first token after a prompt of 64.\n")
    cell = results.cells("loading")[0]
    rows = [[system] + [f"{results.median('loading', cell, system, field):.2f}"
                        for field in ("hello", "imports", "ready", "first_token")]
            for system in results.systems if results.has("loading", cell, system)]
    yield table(["", "program runs", "imports", "ready", "first token"], rows)


SECTIONS = {"decode": decode, "prefill": prefill, "arrivals": arrivals, "background": background, "memory": memory,
            "loading": loading}


def about(given, results):
    said = {each["system"]: each["about"] for each in results.records if each["what"] == "about"}
    lines = [f"{given.model.name}; {host.processor()}.",
             "Medians over blocks in which all systems took turns there and back; ratios are the medians of those within "
             f"a block, with their range. Of the blocks that were not quiet {results.dropped()} were left out and "
             f"{results.noisy()} kept."]
    if given.quick:
        lines.append("A quick run: its figures mean little.")
    errors = {f"{each['part']} {each['cell']}: {each['error']}": None
              for each in results.records if each["what"] == "error"}
    return "\n".join(lines) + "\n\n" + "".join(
        [f"- {name}: {words}\n" for name, words in said.items()] + [f"- {words}.\n" for words in errors])


def page(given, results):
    parts = [about(given, results)]
    shape = model_shape.read(given.model, limits.weight_bits(given.limits)) if results.has_limits() else None
    for part, section in SECTIONS.items():
        if part in results.parts():
            parts += section(results)
        if shape:
            parts += limit_fractions.section(results, part, shape)
    return "\n".join(parts)
