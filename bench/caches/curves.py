"""Every cache kind's curves from the default model on a novel, and Transformers' caches beside them.

Each part is one or more calls of cache_curves; decode steps are timed in blocks in which every kind of every system
takes its turn, there and back. A block begins when the machine is quiet, as in bench/peers.
"""

import argparse
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPS = pathlib.Path(os.environ.get("COGEN_DEPS", ROOT / ".deps"))
sys.path.append(str(ROOT / "bench/measuring"))

import host
import machine
import plots
import tables
import text

PARTS = ["perplexity", "memory", "retrieval", "endless", "latency"]

# Of these, those that the program knows are measured.
JUDGED = ["bf16", "int8", "int8_int4", "int4", "kivi2"]
REMEMBERING = ["bf16", "int8", "int4", "kivi2"]
WEIGHED = ["f32", "bf16", "dynamic", "int8", "int8_int4", "int4", "kivi2", "sinks"]
TIMED = ["f32", "bf16", "dynamic", "int8", "int8_int4", "int4", "kivi2", "sinks", "offloaded", "offloaded_int8"]
ENDLESS = ["sinks", "sliding"]
TRANSFORMERS = ["dynamic", "static", "hqq int8", "quanto int4", "fp8", "offloaded"]
MODEL_LENGTH = 8000  # whole thousands of what a full cache can hold: the model's length is 8,192

FULL = {"context": 4096, "judged": 100000, "weighed": [512, 1024, 2048, 3072, 4096, 5120, 6144, 7168],
        "lengths": [1024, 2048, 4096, 7168], "compared": [1024, 4096, 7168], "crowded": [2048, 4096], "endless": 50000, "steps": 8, "peer_steps": 4}
QUICK = {"context": 512, "judged": 1024, "weighed": [128, 256, 512], "lengths": [128, 256], "compared": [256],
         "crowded": [512], "endless": 2000, "steps": 2, "peer_steps": 1}


class Part:
    """One call of cache_curves, and about how many tokens it reads and draws."""

    def __init__(self, what, kinds, read, sampled=0, **options):
        self.what, self.kinds, self.read, self.sampled, self.options = what, kinds, read, sampled, options

    def command(self, given):
        words = [given.cogen, self.what, "--model", given.model, "--text", given.text, "--kinds", ",".join(self.kinds)]
        for name, value in self.options.items():
            words += ["--" + name.replace("_", "-"), ",".join(map(str, value)) if isinstance(value, list) else value]
        return list(map(str, words))

    def seconds(self, rate):
        """Long contexts are read more slowly, and a token that is sampled costs as much as about five that are read."""
        return (self.read * 1.4 + self.sampled * 5) / rate


def plan(sizes, known):
    """The calls of each part, with the kinds that the program knows."""
    def of(wanted):
        return [kind for kind in wanted if kind in known]

    def many(kinds, tokens):
        return len(kinds) * tokens

    judged, remembering, weighed, endless = map(of, (JUDGED, REMEMBERING, WEIGHED, ENDLESS))
    longest, full = sizes["endless"], min(MODEL_LENGTH, sizes["endless"])
    parts = {
        "perplexity": [Part("perplexity", judged, many(["f32", *judged], sizes["judged"]), tokens=sizes["judged"],
                            context=sizes["context"])],
        "memory": [Part("memory", weighed, many(weighed, sizes["weighed"][-1]), lengths=sizes["weighed"])],
        "retrieval": [
            Part("retrieval", remembering, many(remembering, 4 * sum(sizes["lengths"])), lengths=sizes["lengths"]),
            Part("retrieval", remembering, many(remembering, 2 * sum(sizes["crowded"])), lengths=sizes["crowded"],
                 depths=8, facts=4)],
        "endless": [
            Part("endless", ["bf16"], full, tokens=full),
            Part("endless", ["bf16"], 4 * longest, tokens=longest, how="recompute"),
            Part("free", ["bf16"], 0, full, tokens=full)],
    }
    if endless:
        parts["endless"].append(Part("endless", endless, many(endless, longest), tokens=longest))
    if "sinks" in endless:
        parts["endless"].append(Part("free", ["sinks"], 0, longest, tokens=longest))
    return parts


def write(raw, record):
    raw.write(json.dumps(record) + "\n")
    raw.flush()


def measured(part, given):
    begin = time.monotonic()
    records = list(machine.records_of(part.command(given)))
    print(f"          took {time.monotonic() - begin:.0f} s", flush=True)
    return records


class Turns:
    """Who takes part in the timing, at which lengths, with how many steps a turn."""

    def __init__(self, watch, lengths, steps):
        self.watch, self.lengths, self.steps = watch, lengths, steps

    def take(self, kind, length):
        return self.watch.measure(kind, length, self.steps)


def systems(given, sizes, known):
    kinds = [kind for kind in TIMED if kind in known]
    yield Turns(machine.cogen(given, kinds, sizes["lengths"], sizes["steps"], given.blocks), sizes["lengths"],
                sizes["steps"])
    for dtype in given.dtypes:
        yield Turns(machine.transformers(given, dtype, TRANSFORMERS, sizes["peer_steps"], given.blocks),
                    sizes["compared"], sizes["peer_steps"])


def ready_at(length, all_turns, raw):
    """Each kind that takes part has read its prompt and is warm, or has said why it cannot."""
    for turns in (each for each in all_turns if length in each.lengths):
        for kind in turns.watch.kinds:
            begin = time.monotonic()
            record = turns.take(kind, length)
            if "error" in record:
                write(raw, record)
            else:
                yield turns, kind
            how = record.get("error") or f"ready after {time.monotonic() - begin:.0f} s"
            print(f"          {turns.watch.system} {kind}: {how}", flush=True)


def time_block(ready, length, where, raw):
    for turns, kind in ready + ready[::-1]:
        write(raw, {**turns.take(kind, length), **where})


def time_steps(given, sizes, known, raw):
    all_turns = list(systems(given, sizes, known))
    for length in sizes["lengths"]:
        print(f"latency   {length} tokens", flush=True)
        ready = list(ready_at(length, all_turns, raw))
        for block in range(given.blocks):
            busy = host.wait_for_quiet(given.quiet_timeout)
            quiet = busy <= host.QUIET
            time_block(ready, length, {"block": block, "busy_before": round(busy, 3), "quiet": quiet}, raw)
            print(f"          block {block + 1} of {given.blocks}" +
                  ("" if quiet else f" (began with {busy:.0%} busy)"), flush=True)
    for turns in all_turns:
        turns.watch.close()
    return [turns.watch.version for turns in all_turns[1:]]


def reading_rate(given):
    """Tokens a second that the model reads here now, for the estimate."""
    probe = [given.cogen, "memory", "--model", given.model, "--text", given.text, "--lengths"]
    seconds = []
    for length in ("16", "1040"):
        begin = time.monotonic()
        list(machine.records_of(list(map(str, probe + [length]))))
        seconds.append(time.monotonic() - begin)
    return 1024 / max(0.1, seconds[1] - seconds[0])


def minutes_of_timing(given, sizes, kinds, rate):
    """Transformers reads long prompts at about a third of the rate and takes about 0.4 s for a step after them."""
    peers = len(TRANSFORMERS) * len(given.dtypes)
    ours = len(sizes["lengths"]) * 2 * given.blocks * sizes["steps"] * 0.015 + sizes["lengths"][-1] * 1.5 / rate
    theirs = len(sizes["compared"]) * 2 * given.blocks * sizes["peer_steps"] * 0.4 + sum(sizes["compared"]) * 3 / rate
    return (kinds * ours + peers * theirs) / 60


def estimate(parts, given, sizes, known, rate):
    minutes = {what: sum(part.seconds(rate) for part in parts[what]) / 60 for what in parts}
    minutes["latency"] = minutes_of_timing(given, sizes, len([kind for kind in TIMED if kind in known]), rate)
    return {what: minutes[what] for what in given.only}


def kept_records(path, measured_anew):
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [each for each in records if part_of(each) not in measured_anew]


def part_of(record):
    return {"free": "endless", "versions": "latency"}.get(record["what"], record["what"])


def about(given, records):
    versions = [each["versions"] for each in records if each["what"] == "versions"]
    noisy = sum(not each["quiet"] for each in records if "quiet" in each)
    lines = [f"{given.model.name} reads {given.text.name}; {host.processor()}.",
             *(f"Beside it: {', '.join(each)}." for each in versions if each)]
    if noisy:
        lines.append(f"{noisy} of the timed turns were in blocks that did not begin quiet; such blocks are left out, "
                     "unless they are more than half.")
    if given.quick:
        lines.append("A quick run: its figures mean nothing.")
    return "\n".join(lines) + "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, default=DEPS / "model/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--cogen", type=pathlib.Path, default=ROOT / "build/release/bench/cache_curves")
    parser.add_argument("--text", type=pathlib.Path, help="UTF-8; the pinned novel unless given")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--without-transformers", action="store_true")
    parser.add_argument("--dtypes", default="bfloat16", help="Transformers': bfloat16, float32 or both")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--quiet-timeout", type=float, default=30, help="seconds to wait for a quiet machine before a block")
    given = parser.parse_args()
    given.only = [what for what in PARTS if what in given.only.split(",")]
    given.dtypes = [] if given.without_transformers else given.dtypes.split(",")
    if given.quick:
        given.blocks, given.quiet_timeout = min(given.blocks, 2), 0
    for path in (given.model, given.cogen, given.text or given.model):
        if not path.exists():
            parser.error(f"{path} does not exist")
    if given.blocks < 1 or not given.only:
        parser.error(f"--blocks must be at least 1, --only some of {','.join(PARTS)}")
    return given


def main():
    given = arguments()
    sizes = QUICK if given.quick else FULL
    given.out.mkdir(parents=True, exist_ok=True)
    given.text = given.text or text.novel(DEPS / "caches")
    known = machine.kinds_of(given.cogen)
    parts = plan(sizes, known)
    expected = estimate(parts, given, sizes, known, reading_rate(given))
    print(f"expects   {sum(expected.values()):.0f} minutes: " +
          ", ".join(f"{what} {minutes:.0f}" for what, minutes in expected.items()), flush=True)
    path = given.out / "raw.jsonl"
    kept = kept_records(path, given.only)
    with path.open("w") as raw:
        for record in kept:
            write(raw, record)
        calls = [part for what in given.only if what in parts for part in parts[what]]
        for number, part in enumerate(calls, 1):
            print(f"[{number}/{len(calls)}] {part.what} of {', '.join(part.kinds)}", flush=True)
            for record in measured(part, given):
                write(raw, record)
        if "latency" in given.only:
            write(raw, {"what": "versions", "versions": time_steps(given, sizes, known, raw)})
    records = [json.loads(line) for line in path.read_text().splitlines()]
    page = tables.page(about(given, records), records)
    (given.out / "table.md").write_text(page)
    print("\n" + page)
    for plot in plots.write(records, given.out):
        print(f"wrote     {plot}")


if __name__ == "__main__":
    main()
