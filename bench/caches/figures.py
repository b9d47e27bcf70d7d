"""From raw records to the figures that tables and plots show."""

import math
import statistics
from collections import defaultdict


def of(records, what, **fields):
    return [each for each in records if each["what"] == what and all(each.get(k) == v for k, v in fields.items())]


def names(records, field="kind"):
    """Without repetition, in the order of their appearance."""
    return list(dict.fromkeys(each[field] for each in records))


def cost(one, against):
    """By how much a token's perplexity is higher, as a part of it, with the standard error over the windows, in which
    both read the same text."""
    apart = [a - b for a, b in zip(one["window_nll"], against["window_nll"])]
    error = statistics.stdev(apart) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
    return math.expm1(statistics.mean(apart)), error


def blocks_of(records):
    """Milliseconds a step by (system, kind, length) and block: the mean of the block's steps, there and back."""
    found = defaultdict(lambda: defaultdict(list))
    for each in of(records, "latency"):
        if "block" in each and "milliseconds" in each:
            found[each["system"], each["kind"], each["length"]][each["block"]] += each["milliseconds"]
    return {key: {block: statistics.mean(steps) for block, steps in blocks.items()} for key, blocks in found.items()}


def fair_blocks(records, length):
    """The whole blocks that began quiet, or all whole ones where those are fewer than half."""
    turns = defaultdict(list)
    for each in of(records, "latency", length=length):
        if "block" in each:
            turns[each["block"]].append(each["quiet"])
    whole = [block for block, quiet in turns.items() if len(quiet) == max(map(len, turns.values()))]
    kept = [block for block in whole if all(turns[block])]
    return kept if 2 * len(kept) >= len(whole) else whole


class Latency:
    def __init__(self, records):
        self.blocks = blocks_of(records)
        self.lengths = sorted({length for _, _, length in self.blocks})
        self.fair = {length: fair_blocks(records, length) for length in self.lengths}
        self.systems = list(dict.fromkeys(system for system, _, _ in self.blocks))
        self.errors = {(each["system"], each["kind"]): each["error"] for each in of(records, "latency")
                       if "error" in each}

    def kinds(self, system):
        return list(dict.fromkeys(kind for name, kind, _ in self.blocks if name == system))

    def has(self, system, kind, length):
        return (system, kind, length) in self.blocks

    def all(self, system, kind, length):
        return [self.blocks[system, kind, length][block] for block in self.fair[length]]

    def median(self, system, kind, length):
        return statistics.median(self.all(system, kind, length))

    def ratio(self, slow, fast, length):
        """How many times as long the first takes: the median over blocks, the least and the most."""
        ratios = [a / b for a, b in zip(self.all(*slow, length), self.all(*fast, length))]
        return statistics.median(ratios), min(ratios), max(ratios)


def retrieved(records, facts, kind, field="right"):
    """The share of right answers by (depth, length)."""
    cells = defaultdict(list)
    for each in of(records, "retrieval", facts=facts, kind=kind):
        cells[each["depth"], each["length"]].append(each[field])
    return {cell: statistics.mean(answers) for cell, answers in cells.items()}


def reading(each):
    return f"{each['kind']}, {'recomputed' if each['how'] == 'recompute' else 'one cache'}"


def overall(buckets):
    return math.exp(statistics.mean(each["nll"] for each in buckets))
