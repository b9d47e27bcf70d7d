"""The SVG plots, each from the records of one part."""

import chart
import figures

MIB = 1 << 20


def positions(each):
    return [(part["from"] + part["to"]) / 2 for part in each["positions"]]


def perplexity(records):
    found = figures.of(records, "perplexity", context=max(figures.names(figures.of(records, "perplexity"), "context")))
    base = next((each for each in found if each["kind"] == "bf16"), found[0])
    lines = {each["kind"]: [(at, part["perplexity"]) for at, part in zip(positions(each), each["positions"])]
             for each in found}
    more = {each["kind"]: [(at, 100 * (part["perplexity"] / bare["perplexity"] - 1)) for at, part, bare
                           in zip(positions(each), each["positions"], base["positions"])] for each in found}
    others = [each for each in found if each["kind"] != each["reference"]]
    yield "perplexity", chart.lines("Perplexity by place in the window", "tokens before", "perplexity", lines)
    yield "perplexity_cost", chart.lines(f"What a cache costs against {base['kind']}", "tokens before",
                                         "more perplexity, %", more)
    if others:
        yield "divergence", chart.bars(
            "Divergence from the full-precision cache", f"nats a token, against {found[0]['reference']}",
            {each["kind"]: max(each["kl"], 1e-9) for each in others},
            {each["kind"]: f"{each['agreement']:.2%} same token" for each in others}, log=True)


def memory(records):
    found = figures.of(records, "memory")
    yield "memory", chart.lines("Memory of a sequence", "tokens held", "MiB", {
        kind: [(each["length"], each["committed"] / MIB) for each in found if each["kind"] == kind]
        for kind in figures.names(found)}, zero=True)


def latency(records):
    found = figures.Latency(records)
    curves = {(system, kind): [(n, found.median(system, kind, n)) for n in found.lengths if found.has(system, kind, n)]
              for system in found.systems for kind in found.kinds(system)}
    yield "latency", chart.lines("Time of a decode step", "tokens held", "ms", {
        kind: points for (system, kind), points in curves.items() if system == "cogen"}, zero=True)
    if len(found.systems) > 1:
        short = {system: system if system == "cogen" else "T." for system in found.systems}
        yield "latency_transformers", chart.lines("Time of a decode step: cogen and Transformers (T.)", "tokens held",
                                                  "ms", {f"{short[system]} {kind}": points for (system, kind), points
                                                         in curves.items()}, log_y=True)


def retrieval(records):
    for facts in figures.names(figures.of(records, "retrieval"), "facts"):
        found = figures.of(records, "retrieval", facts=facts)
        panels = {kind: figures.retrieved(records, facts, kind) for kind in figures.names(found)}
        title = f"Facts found again, {facts} in a text" if facts > 1 else "A fact found again"
        yield f"retrieval_{facts}", chart.heat(title, panels, sorted(figures.names(found, "length")),
                                               sorted(figures.names(found, "depth")), "tokens", "depth")


def endless(records):
    found = figures.of(records, "endless")
    by_name = {name: [each for each in found if figures.reading(each) == name]
               for name in dict.fromkeys(map(figures.reading, found))}
    yield "endless_perplexity", chart.lines("One long text, token by token", "tokens read", "perplexity", {
        name: [(each["to"], each["perplexity"]) for each in buckets] for name, buckets in by_name.items()}, log_y=True)
    yield "endless_memory", chart.lines("Memory while one long text is read", "tokens read", "MiB", {
        name: [(each["to"], each["committed"] / MIB) for each in buckets] for name, buckets in by_name.items()}, zero=True)
    written = figures.of(records, "free")
    if written:
        shares = {f"{kind}, sampled": [(each["to"], 100 * each["distinct"]) for each in written if each["kind"] == kind]
                  for kind in figures.names(written)}
        longest = max(by_name.values(), key=len)
        shares["the novel itself"] = [(each["to"], 100 * each["distinct"]) for each in longest]
        yield "endless_distinct", chart.lines("Distinct 4-grams in free generation", "tokens", "%", shares, zero=True)


SECTIONS = {"perplexity": perplexity, "memory": memory, "latency": latency, "retrieval": retrieval, "endless": endless}


def write(records, folder):
    present = {each["what"] for each in records}
    for what, section in SECTIONS.items():
        if what in present:
            for name, plot in section(records):
                (folder / f"{name}.svg").write_text(plot)
                yield folder / f"{name}.svg"
