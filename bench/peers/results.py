"""From the raw records of turns to medians over blocks, and ratios within them."""

import statistics
from collections import defaultdict

import figures
import host

NOT_FIGURES = {"what", "part", "cell", "block", "position", "pass", "system", "busy_before", "copying"}
LEAST_COPYING = 0.8  # of the session's median


class Results:
    def __init__(self, records):
        self.records = records
        turns = [each for each in records if each["what"] == "turn"]
        self.systems = list(dict.fromkeys(each["system"] for each in turns))
        self.usual_copying = statistics.median(each["copying"] for each in turns) if turns else 0
        self.blocks = defaultdict(dict)  # (part, cell) -> block -> (system, pass) -> means
        self.quiet = {}
        for key, found in grouped(turns).items():
            part, cell, block, system, which = key
            self.blocks[part, cell].setdefault(block, {})[system, which] = figures.mean_of(
                [{field: value for field, value in each.items() if field not in NOT_FIGURES} for each in found])
            self.quiet[part, cell, block] = all(map(self.is_quiet, found))
        self.add_limits()

    def add_limits(self):
        """Beside the systems of a block, as "limits", what the machine could do at best before it."""
        for each in self.records:
            if each["what"] == "limits" and each["block"] in self.blocks.get((each["part"], each["cell"]), {}):
                self.blocks[each["part"], each["cell"]][each["block"]]["limits", ""] = {
                    field: value for field, value in each.items() if isinstance(value, float)}

    def has_limits(self):
        return any(each["what"] == "limits" for each in self.records)

    def is_quiet(self, turn):
        return turn["busy_before"] <= host.QUIET and turn["copying"] >= LEAST_COPYING * self.usual_copying

    def parts(self):
        return list(dict.fromkeys(part for part, _ in self.blocks))

    def cells(self, part):
        return [cell for each, cell in self.blocks if each == part]

    def fair(self, part, cell):
        """The blocks that were quiet when they began, or all where more than half were not."""
        blocks = self.blocks[part, cell]
        quiet = [block for block in blocks if self.quiet[part, cell, block]]
        return [blocks[block] for block in (quiet if 2 * len(quiet) >= len(blocks) else blocks)]

    def dropped(self):
        return sum(len(blocks) - len(self.fair(*key)) for key, blocks in self.blocks.items())

    def noisy(self):
        return sum(not quiet for quiet in self.quiet.values()) - self.dropped()

    def has(self, part, cell, system, which=""):
        return any((system, which) in block for block in self.blocks[part, cell].values())

    def all(self, part, cell, system, field, which=""):
        return [block[system, which][field] for block in self.fair(part, cell) if (system, which) in block]

    def median(self, part, cell, system, field, which=""):
        return statistics.median(self.all(part, cell, system, field, which))

    def spread(self, part, cell, over, under):
        """The median, the least and the most over blocks of one figure by another, each (system, field, pass)."""
        (a, f, p), (b, g, q) = over, under
        ratios = [block[a, p][f] / max(1e-9, block[b, q][g]) for block in self.fair(part, cell)
                  if (a, p) in block and (b, q) in block]
        return statistics.median(ratios), min(ratios), max(ratios)

    def best_peer(self, part, cell, field, least=False, which=""):
        peers = [system for system in self.systems if not system.startswith("cogen")
                 and self.has(part, cell, system, which)]
        if not peers:
            return None
        return (min if least else max)(peers, key=lambda system: self.median(part, cell, system, field, which))


def grouped(turns):
    found = defaultdict(list)
    for each in turns:
        found[each["part"], each["cell"], each["block"], each["system"], each["pass"]].append(each)
    return found
