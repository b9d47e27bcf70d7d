"""What of the machine's limits cogen comes to: see limits.py for what a limit is."""

import statistics

import cells
import limits
from markdown import table

OURS = {"cogen int8": True, "cogen float32": False}
RATES = "limits", ""  # where a block keeps what bench/limits measured before it
HEADS = ["", "MB", "products", "limit", "share", "what the limit's time goes to", "limit with caches", "share"]
EXPLAINED = ("What the machine could do at best, tokens/s, by what it read and multiplied a second before each block, and "
             "cogen's share of it: the median of those within a block, with their range. A step reads so many MB and "
             "computes so many millions of products. First as if all came from memory, then with what caches keep from "
             "step to step: at the rate at which the machine reads as many bytes over and over.\n")


def steps(part):
    """What each cell of a part asks of the model at once, by the cell's name."""
    everything = cells.all_cells(quick=True) + cells.all_cells() + cells.BY_NAME_ALONE
    return {cell.name: limits.step_of(cell) for cell in everything if cell.part == part}


def bounds(shape, step, fast, rates):
    """What each part of a step takes of its time, and why."""
    parts = limits.parts_of(shape, step, fast, rates)
    whole = sum(part.seconds(rates) for part in parts)
    return ", ".join(f"{part.name} {part.seconds(rates) / whole:.0%} ({part.bound(rates)})"
                     for part in sorted(parts, key=lambda part: -part.seconds(rates)))


def fractions_of(best, blocks, name):
    reached = [block[name, ""]["tokens_per_second"] / most for block, most in zip(blocks, best)]
    return f"{statistics.median(reached):.0%} ({min(reached):.0%}–{max(reached):.0%})"


def row(shape, step, name, blocks):
    def best(rates):
        return limits.tokens_per_second(shape, step, OURS[name], rates)
    from_memory = [best(block[RATES]) for block in blocks]
    from_caches = [best(limits.with_caches(block[RATES])) for block in blocks]
    middle = {field: statistics.median(block[RATES][field] for block in blocks) for field in blocks[0][RATES]}
    return [name, f"{limits.step_bytes(shape, step) / 1e6:,.0f}", f"{limits.step_products(shape, step) / 1e6:,.0f}",
            f"{statistics.median(from_memory):,.0f}", fractions_of(from_memory, blocks, name),
            bounds(shape, step, OURS[name], middle), f"{statistics.median(from_caches):,.0f}",
            fractions_of(from_caches, blocks, name)]


def rows(results, part, shape):
    asked = steps(part)
    for cell in [each for each in results.cells(part) if asked[each]]:
        for name in OURS:
            blocks = [block for block in results.fair(part, cell) if RATES in block and (name, "") in block]
            if blocks:
                yield [cell, *row(shape, asked[cell], name, blocks)]


def section(results, part, shape):
    lines = list(rows(results, part, shape))
    if lines:
        yield EXPLAINED if part == results.parts()[0] else "What the machine could do at best, likewise.\n"
        yield table([part, *HEADS], lines)
