"""One session: blocks in which all systems take their turns there and back, written down as they come."""

import contextlib
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

import cells
import host
import limits
import model_shape
import systems

MOST_DIFFERENCE = 0.005  # of the bytes of weights: biases and small matrices


@contextlib.contextmanager
def busy_processes():
    """One for each processor, of low priority."""
    command = ["nice", "-n", "10", sys.executable, "-c", "while True: pass"]
    background = [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for each in background:
            each.terminate()
            each.wait()


def clock(seconds):
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


class Progress:
    """How far it is: the blocks to come weigh what their cell's have taken, or what cells like it suggest."""

    def __init__(self, todo):
        self.todo, self.begun = list(todo), time.monotonic()
        self.total, self.done = len(self.todo), 0
        self.spent, self.weight, self.by_cell = 0.0, 0.0, {}

    def expected(self):
        rate = self.spent / self.weight if self.weight else 4.0
        means = {cell: sum(took) / len(took) for cell, took in self.by_cell.items()}
        return sum(means.get(cell, weight * rate) for cell, weight in self.todo)

    def took(self, cell, weight, seconds):
        self.todo.remove((cell, weight))
        self.done += 1
        self.spent, self.weight = self.spent + seconds, self.weight + weight
        self.by_cell.setdefault(cell, []).append(seconds)

    def shown(self):
        return (f"[{self.done}/{self.total}, {clock(time.monotonic() - self.begun)} so far, "
                f"{clock(self.expected())} to go]")


class Session:
    def __init__(self, taking_part, chosen, given, write):
        self.systems, self.cells, self.write = taking_part, chosen, write
        self.blocks, self.quiet_timeout, self.quick = given.blocks, given.quiet_timeout, given.quick
        self.capacity_of, self.limits_program = given.capacity_of, given.limits
        self.shape = model_shape.read(given.model, limits.weight_bits(given.limits))
        self.servers, self.kind, self.found_capacity = {}, None, None
        self.times = gzip.open(given.out / "times.jsonl.gz", "at")
        self.progress = Progress((cell.name + cell.part, self.weight(cell)) for cell in chosen
                                 for _ in range(cells.blocks_of(cell, given.blocks)))

    def able(self, cell):
        return [system for system in self.systems if cells.can_run(cell, system)]

    def weight(self, cell):
        return cell.weight() * len(self.able(cell)) / 4

    def run(self):
        try:
            for cell in self.cells:
                self.run_cell(cell)
        finally:
            self.times.close()
            self.close_servers()

    def close_servers(self):
        for server in self.servers.values():
            server.close()
        self.servers = {}

    def server(self, system, keeps_prompts):
        """One process for a system as long as cells of the same kind follow each other."""
        key = system.key, keeps_prompts
        if key not in self.servers:
            print(f"          {system.name}: ", end="", flush=True)
            self.servers[key] = system.start(keeps_prompts)
            print(f"ready after {self.servers[key].ready_seconds:.1f} s: {self.servers[key].about}", flush=True)
            self.write({"what": "about", "system": system.name, "about": self.servers[key].about})
            self.check_weights(self.servers[key].weight_bytes)
        return self.servers[key]

    def check_weights(self, said):
        """The limits are those of what cogen reads only if they count its weights as it does."""
        if said and self.shape and abs(limits.weight_bytes(self.shape) / said - 1) > MOST_DIFFERENCE:
            sys.exit(f"compare: limits.py counts {limits.weight_bytes(self.shape):,.0f} bytes of weights where cogen "
                     f"has {said:,}")

    def run_cell(self, cell):
        if self.kind != (cell.part, getattr(cell, "context", None)):
            self.close_servers()
        self.kind = cell.part, getattr(cell, "context", None)
        print(f"{cell.part:<10}{cell.name}", flush=True)
        able = [system for system in self.able(cell) if self.tried(cell, system, self.warm)]
        if cell.part == "arrivals":
            self.capacity(able)
        for block in range(cells.blocks_of(cell, self.blocks)):
            begun = time.monotonic()
            shown = self.run_block(cell, able, block)
            self.progress.took(cell.name + cell.part, self.weight(cell), time.monotonic() - begun)
            print(f"          {self.progress.shown()} block {block + 1}{shown}", flush=True)

    def tried(self, cell, system, what, *more):
        """What it returns; a system that cannot do it takes part in the cell no more."""
        try:
            return what(cell, system, *more)
        except systems.Ended as error:
            print(f"          {error}", flush=True)
            self.write({"what": "error", "part": cell.part, "cell": cell.name, "system": system.name,
                        "error": str(error)})
            for key in [key for key in self.servers if key[0] == system.key]:
                self.servers.pop(key).close()
            return None

    def warm(self, cell, system):
        with self.serving(cell, system) as server:
            cell.warm(server, self)
        return True

    @contextlib.contextmanager
    def serving(self, cell, system):
        """A process of its own where the cell wants one, or the one that is there."""
        if cell.keeps_prompts is not None:
            yield self.server(system, cell.keeps_prompts)
            return
        server = system.start()
        try:
            yield server
        finally:
            server.close()

    def run_block(self, cell, able, block):
        """Each system's mean of the first of its figures, in words."""
        busy, copied = host.wait_for_quiet(self.quiet_timeout), host.copying_rate()
        place = {"part": cell.part, "cell": cell.name, "block": block}
        self.measure_limits(cell, place)
        where = {"what": "turn", **place, "busy_before": round(busy, 3), "copying": round(copied, 2)}
        shown = {}
        for each_pass in cell.passes:
            with busy_processes() if each_pass == "busy" else contextlib.nullcontext():
                for position, system in enumerate(able + able[::-1]):
                    here = {**where, "pass": each_pass, "system": system.name, "position": position}
                    if system in able:
                        figure = self.tried(cell, system, self.turn, here)
                        if figure is None:
                            able.remove(system)
                        else:
                            shown.setdefault(system.name, []).append(figure)
        return ("" if busy <= host.QUIET else " (not quiet)") + ": " + ", ".join(
            f"{name} {sum(found) / len(found):.4g}" for name, found in shown.items())

    def measure_limits(self, cell, place):
        step = limits.step_of(cell)
        if step and self.shape:
            found = limits.measured(self.limits_program, limits.step_bytes(self.shape, step))
            self.write({"what": "limits", **place, **found})

    def turn(self, cell, system, where):
        """The first of the turn's figures."""
        with self.serving(cell, system) as server:
            found, times = cell.turn(server, self, where)
        found = {field: round(value, 4) for field, value in found.items()}
        self.write({**where, **found})
        if times is not None:
            self.times.write(json.dumps({**where, "times": times}) + "\n")
        return next(iter(found.values()))

    def capacity(self, able):
        """Requests a second that --capacity-of brings to an end, or the best of the peers: there and back, once."""
        if self.found_capacity is not None:
            return
        found = {}
        for system in able + able[::-1]:
            rate = cells.capacity_turn(self.server(system, False), self)
            found.setdefault(system.key, []).append(rate)
            self.write({"what": "capacity", "system": system.name, "requests_per_second": round(rate, 4)})
        means = {key: sum(rates) / len(rates) for key, rates in found.items()}
        peers = [system.key for system in able if not system.ours] or list(means)
        chosen = self.capacity_of if self.capacity_of in means else max(peers, key=means.get)
        self.found_capacity = means[chosen]
        self.write({"what": "capacity", "chosen": chosen, "requests_per_second": round(means[chosen], 4)})
        print("          requests a second: " + ", ".join(f"{key} {rate:.2f}" for key, rate in means.items()) +
              f"; {chosen}'s is the capacity", flush=True)
