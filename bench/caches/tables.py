"""The Markdown page."""

import statistics

import figures
from markdown import table

MIB = 1 << 20

# Which of Transformers' kinds each of ours is held against. Its offloading needs CUDA: on a machine without, the
# dynamic kind stands in, which does strictly less.
PAIRS = [("dynamic", "dynamic"), ("bf16", "static"), ("int8", "hqq int8"), ("int8", "fp8"), ("int4", "hqq int4"),
         ("int4", "quanto int4"), ("offloaded", "offloaded"), ("offloaded", "dynamic"),
         ("offloaded_int8", "dynamic")]


def perplexity(records):
    parts = []
    for context in figures.names(figures.of(records, "perplexity"), "context"):
        found = {each["kind"]: each for each in figures.of(records, "perplexity", context=context)}
        base = found.get("bf16") or next(iter(found.values()))
        rows = []
        for kind, each in found.items():
            more, error = figures.cost(each, base)
            rows.append([kind, f"{each['perplexity']:.4f}", f"{more:+.3%} ± {error:.3%}", f"{each['kl']:.2e}",
                         f"{each['kl_99']:.2e}", f"{each['agreement']:.3%}"])
        first = next(iter(found.values()))
        parts += [f"Perplexity of {first['tokens']:,} tokens in {first['windows']} windows of {context:,}, each begun with "
                  f"an empty cache; divergence (nats a token) from the {first['reference']} cache, and how often the "
                  "most likely token is the same.\n",
                  table(["cache", "perplexity", f"against {base['kind']} (± standard error)", "divergence", "its 99 %",
                         "same token"], rows)]
    return "\n".join(parts)


def memory(records):
    found = figures.of(records, "memory")
    lengths = figures.names(found, "length")
    shown = [length for length in lengths if length % 1024 == 0] or lengths
    bytes_of = {(each["kind"], each["length"]): each["committed"] for each in found}
    rows = [[kind] + [f"{bytes_of[kind, length] / MIB:.1f}" for length in shown] for kind in figures.names(found)]
    return "Memory that a sequence takes, MiB, by its length.\n\n" + table(["cache"] + [f"{n:,}" for n in shown], rows)


def latency(records):
    found = figures.Latency(records)
    rows = [[system, kind] + [f"{found.median(system, kind, length):.2f}" if found.has(system, kind, length) else "–"
                              for length in found.lengths]
            for system in found.systems for kind in found.kinds(system)]
    parts = [f"Milliseconds of a decode step, by tokens held: medians over {len(found.fair[found.lengths[0]])} blocks in "
             "which all took turns.\n", table(["system", "cache"] + [f"{n:,}" for n in found.lengths], rows)]
    parts += [f"{system}, {kind}: cannot run here. {error}\n" for (system, kind), error in found.errors.items()]
    return "\n".join(parts + [against_bf16(found), against_transformers(found)])


def shown(ratio):
    return "{:.2f} ({:.2f}–{:.2f})".format(*ratio)


def against_bf16(found):
    kinds = [kind for kind in found.kinds("cogen") if kind != "bf16"]
    if "bf16" not in found.kinds("cogen"):
        return ""
    rows = [[kind] + [shown(found.ratio(("cogen", "bf16"), ("cogen", kind), length)) for length in found.lengths]
            for kind in kinds]
    return ("How many times as fast as cogen's bf16 cache: medians of the ratios within a block, and their range.\n\n" +
            table(["cache"] + [f"{n:,}" for n in found.lengths], rows))


def against_transformers(found):
    rows = []
    for system in found.systems:
        if system == "cogen":
            continue
        for ours, theirs in PAIRS:
            lengths = [n for n in found.lengths if found.has("cogen", ours, n) and found.has(system, theirs, n)]
            if lengths:
                cells = {n: shown(found.ratio((system, theirs), ("cogen", ours), n)) for n in lengths}
                rows.append([ours, f"{system}, {theirs}"] + [cells.get(n, "–") for n in found.lengths])
    if not rows:
        return ""
    return ("How many times as fast as Transformers, within a block.\n\n" +
            table(["cogen", "against"] + [f"{n:,}" for n in found.lengths], rows))


def retrieval(records):
    parts = []
    for facts in figures.names(figures.of(records, "retrieval"), "facts"):
        found = figures.of(records, "retrieval", facts=facts)
        lengths = sorted(figures.names(found, "length"))
        rows = []
        for kind in figures.names(found):
            cells = [[each for each in found if each["kind"] == kind and each["length"] == length] for length in lengths]
            rows.append([kind] + [f"{statistics.mean(x['right'] for x in cell):.0%} / "
                                  f"{statistics.mean(x['chosen'] for x in cell):.0%}" for cell in cells])
        asked = sum(each["kind"] == found[0]["kind"] and each["length"] == lengths[0] for each in found)
        parts += [f"Facts found again, {facts} in each text, {asked} for each length: said greedily / the most likely of "
                  "eight numbers (12 % by chance).\n", table(["cache"] + [f"{n:,}" for n in lengths], rows)]
    return "\n".join(parts)


def endless(records):
    rows = []
    found = figures.of(records, "endless")
    for name in dict.fromkeys(map(figures.reading, found)):
        buckets = [each for each in found if figures.reading(each) == name]
        part = max(1, len(buckets) // 5)
        rows.append([name, f"{buckets[-1]['to']:,}", f"{figures.overall(buckets):.2f}",
                     f"{figures.overall(buckets[:part]):.2f}", f"{figures.overall(buckets[-part:]):.2f}",
                     f"{max(each['committed'] for each in buckets) / MIB:.1f}"])
    parts = ["One long text, judged token by token: perplexity of all of it, its first and its last fifth, and the most "
             "memory.\n", table(["cache", "tokens", "perplexity", "first fifth", "last fifth", "MiB"], rows)]
    rows = []
    for kind in figures.names(figures.of(records, "free")):
        buckets = figures.of(records, "free", kind=kind)
        shares = [each["distinct"] for each in buckets]
        rows.append([kind, f"{buckets[-1]['to']:,}", f"{statistics.median(shares):.1%}", f"{min(shares):.1%}",
                     f"{max(each['committed'] for each in buckets) / MIB:.1f}"])
    if rows:
        size = next(each["to"] - each["from"] for each in records if each["what"] == "free")
        parts += [f"Free generation: the share of distinct 4-grams in each {size:,} tokens.\n",
                  table(["cache", "tokens", "median", "least", "MiB"], rows)]
    return "\n".join(parts)


SECTIONS = {"perplexity": perplexity, "memory": memory, "latency": latency, "retrieval": retrieval, "endless": endless}


def page(about, records):
    present = {each["what"] for each in records}
    return "\n".join([about] + [section(records) for what, section in SECTIONS.items() if what in present])
