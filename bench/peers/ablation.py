"""cogen with each of its clever parts turned off, one at a time, in turns with all of them on."""

import argparse
import dataclasses

import compare
import cells
import chart
import host
import page
import results
import systems
from markdown import table

WHOLE = "all on"
FIELD = "tokens_per_second"


def instructions(name):
    return (), (("COGEN_INSTRUCTION_SET", name),)


# What takes part in some cells only: prompts of some thousand tokens would take minutes.
LIMITS = {"portable": {"parts": ("decode",), "largest": 1024}}

WITHOUT = {
    "float32": ("float32 products", ("--compute-type", "float32"), ()),
    "bf16": ("AVX-512 with VNNI and BF16", *instructions("avx512_bf16")),
    "vnni": ("AVX-512 without VNNI", *instructions("avx512")),
    "avx2": ("AVX2", *instructions("avx2")),
    "portable": ("no vector instructions of its own", *instructions("portable")),
    "thread": ("one thread", ("--threads", "1"), ()),
    "f32": ("float32 caches", ("--kv-dtype", "f32"), ()),
    "bf16-cache": ("bfloat16 caches", ("--kv-dtype", "bf16"), ()),
    "buffering": ("no buffering", ("--max-buffered-tokens", "0"), ()),
    "small-steps": ("steps of 32 tokens", ("--max-batched-tokens", "32"), ()),
    "large-steps": ("steps of 512 tokens", ("--max-batched-tokens", "512"), ()),
}


def variants(given):
    yield systems.cogen(given, "cogen", WHOLE, "--compute-type", "int8")
    for key in given.without:
        name, words, environment = WITHOUT[key]
        compute_type = () if "--compute-type" in words else ("--compute-type", "int8")
        system = systems.cogen(given, f"cogen-{key}", name, *compute_type, *words, environment=environment)
        yield dataclasses.replace(system, **LIMITS.get(key, {}))


def all_cells(quick):
    if quick:
        return [cells.Decode(4, 64, 64, 0), cells.Prefill(512)]
    return [cells.Decode(1, 64, 64, 0), cells.Decode(16, 64, 64, 0), cells.Decode(1, 4096, 32, 1),
            cells.Decode(16, 1024, 32, 2), cells.Prefill(512), cells.Prefill(4096)]


def fractions_of(found, part, cell, system):
    return found.spread(part, cell, (system, FIELD, ""), (WHOLE, FIELD, ""))


def rate_and_share(found, part, cell, system):
    if not found.has(part, cell, system):
        return "–", "–"
    return (page.shown(found.median(part, cell, system, FIELD)),
            "1" if system == WHOLE else page.ratio(fractions_of(found, part, cell, system)))


def text(given, found):
    keys = list(found.blocks)
    heads = [""] + [head for part, cell in keys for head in (f"{part} {cell}", "share")]
    rows = []
    for system in found.systems:
        row = [system]
        for part, cell in keys:
            row += rate_and_share(found, part, cell, system)
        rows.append(row)
    return (f"{given.model.name}; {host.processor()}.\n\nTokens/s with everything on (int8 products), and with one thing "
            "changed at a time; shares of the first line are medians of those within a block, with their range. Of the "
            f"blocks that were not quiet {found.dropped()} were left out and {found.noisy()} kept.\n\n" +
            ("A quick run: its figures mean little.\n\n" if given.quick else "") + table(heads, rows))


def plot(found):
    part, cell = next(((part, cell) for part, cell in found.blocks if cell.startswith("16")), next(iter(found.blocks)))
    left = {system: 100 * fractions_of(found, part, cell, system)[0] for system in found.systems
            if found.has(part, cell, system)}
    return chart.bars(f"What is left with one thing changed: {part} {cell}", "% of the rate with all on", left,
                      {system: f"{share:.0f} %" for system, share in left.items()})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    compare.paths(parser)
    compare.turns(parser)
    parser.add_argument("--without", default=",".join(WITHOUT))
    parser.add_argument("--cells", default="decode,prefill")
    given = parser.parse_args()
    given.without, given.capacity_of = given.without.split(","), ""
    unknown = [key for key in given.without if key not in WITHOUT]
    if unknown:
        parser.error(f"--without: {', '.join(unknown)}: there are {', '.join(WITHOUT)}")
    given.cells = cells.matching(given.cells.split(","), all_cells(given.quick))
    if not given.cells:
        parser.error("--cells: decode or prefill, or one cell of them, as decode:16x1024")
    compare.settle(parser, given)
    return given


def main():
    given = arguments()
    records = compare.measured(given, list(variants(given)), given.cells)
    found = results.Results(records)
    (given.out / "table.md").write_text(text(given, found))
    (given.out / "ablation.svg").write_text(plot(found))
    print("\n" + text(given, found))


if __name__ == "__main__":
    main()
