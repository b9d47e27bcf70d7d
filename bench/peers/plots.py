"""The SVG plots of a session."""

import chart


def decode(results):
    contexts = dict.fromkeys(cell.split(" x ")[1] for cell in results.cells("decode"))
    for context in contexts:
        cells = [cell for cell in results.cells("decode") if cell.endswith(f" x {context}")]
        series = {system: [(int(cell.split()[0]), results.median("decode", cell, system, "tokens_per_second"))
                           for cell in cells if results.has("decode", cell, system)] for system in results.systems}
        yield f"decode_{context.replace(',', '')}", chart.lines(
            f"Decoding after {context} tokens", "requests", "tokens/s of all requests", present(series), log_y=True)


def present(series):
    return {name: points for name, points in series.items() if points}


def bars(results, part, cell, field, title, label, note):
    values = {system: results.median(part, cell, system, field) for system in results.systems
              if results.has(part, cell, system)}
    return chart.bars(title, label, values, {name: note.format(value) for name, value in values.items()})


def prefill(results):
    for cell in results.cells("prefill"):
        length = cell.split()[0].replace(",", "")
        yield f"prefill_{length}", bars(results, "prefill", cell, "tokens_per_second", f"Reading a prompt of {cell}",
                                        "tokens/s", "{:,.0f}")


def arrivals(results):
    for field, title, label in [("first_p99", "Wait for the first token, 99 %", "ms"),
                                ("gap_p99", "Wait between tokens, 99 %", "ms")]:
        series = {system: [(float(cell.split()[1]), results.median("arrivals", cell, system, field))
                           for cell in results.cells("arrivals") if results.has("arrivals", cell, system)]
                  for system in results.systems}
        yield f"arrivals_{field}", chart.lines(title, "load", label, present(series), log_y=True)


def background(results):
    field = "tokens_per_second"
    for cell in results.cells("background"):
        shares = {system: 100 * results.spread("background", cell, (system, field, "busy"), (system, field, "quiet"))[0]
                  for system in results.systems if results.has("background", cell, system, "busy")}
        yield f"background_{cell.split()[0]}", chart.bars(
            f"What is left beside busy processes of low priority, {cell}", "% of the rate alone", shares,
            {name: f"{share:.0f} %" for name, share in shares.items()})


def memory(results):
    for cell in results.cells("memory"):
        yield f"memory_{cell.split()[0]}", bars(results, "memory", cell, "peak", f"Peak memory, {cell}", "MiB", "{:,.0f}")


def loading(results):
    cell = results.cells("loading")[0]
    yield "loading", bars(results, "loading", cell, "first_token", "From the start to the first token", "s", "{:.2f}")


SECTIONS = {"decode": decode, "prefill": prefill, "arrivals": arrivals, "background": background, "memory": memory,
            "loading": loading}


def write(results, folder):
    for part, section in SECTIONS.items():
        if part in results.parts():
            for name, plot in section(results):
                (folder / f"{name}.svg").write_text(plot)
                yield folder / f"{name}.svg"
