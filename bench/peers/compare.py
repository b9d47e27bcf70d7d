"""cogen and Transformers in turns: for each number of requests, blocks of A B C C B A, and the ratios within each.

A block begins when the machine is quiet, or after a wait of 30 seconds. One that did not begin quiet (others had more
than a tenth of the processors) is measured, marked and left out of the table, unless more than half of them would be.
"""

import argparse
import itertools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
QUIET = 0.1
DECODE = "decode_tokens_per_second"
PREFILL = "prefill_tokens_per_second"
WHOLE = "tokens_per_second"


class Cogen:
    name = "cogen"

    def __init__(self, given):
        self.command = [str(given.cogen), "--model", str(given.model), "--prompt-tokens", str(given.prompt_tokens),
                        "--new-tokens", str(given.new_tokens), "--json", "--requests"]
        self.version = given.cogen.name

    def measure(self, requests):
        done = subprocess.run(self.command + [str(requests)], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"compare: {self.command[0]} ended with status {done.returncode}")
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return next(record for record in records if record["requests"] == requests)

    def close(self):
        pass


class Transformers:
    def __init__(self, given, dtype):
        self.name = f"Transformers {dtype}"
        command = [sys.executable, str(HERE / "transformers_throughput.py"), "--serve", "--model", str(given.model),
                   "--dtype", dtype, "--prompt-tokens", str(given.prompt_tokens), "--new-tokens", str(given.new_tokens)]
        progress = {} if sys.stderr.isatty() else {"TQDM_DISABLE": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **progress})
        self.version = self.read()["ready"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare: {self.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def measure(self, requests):
        """One object as transformers_throughput.py prints it, measured after a short run to warm up."""
        self.process.stdin.write(f"{requests}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def busy_share(seconds=0.5):
    """The part of all processor time that anyone used for the next moment."""
    def read():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return sum(fields), fields[3] + fields[4]
    total, idle = read()
    time.sleep(seconds)
    later_total, later_idle = read()
    return 1 - (later_idle - idle) / max(1, later_total - total)


def wait_for_quiet(patience):
    deadline = time.monotonic() + patience
    share = busy_share()
    while share > QUIET and time.monotonic() < deadline:
        share = busy_share()
    return share


def means_of(records):
    return {field: statistics.mean(record[field] for record in records) for field in (DECODE, PREFILL, WHOLE)}


def run_block(systems, requests, block, raw, patience):
    busy = wait_for_quiet(patience)
    found = {system.name: [] for system in systems}
    for position, system in enumerate(systems + systems[::-1]):
        record = system.measure(requests)
        found[system.name].append(record)
        where = {"system": system.name, "block": block, "position": position, "busy_before": round(busy, 3)}
        raw.write(json.dumps({**where, **record}) + "\n")
        raw.flush()
    means = {name: means_of(records) for name, records in found.items()}
    shown = ", ".join(f"{name} {mean[DECODE]:.1f}" for name, mean in means.items())
    print(f"{shown} tokens/s{'' if busy <= QUIET else f' (began with {busy:.0%} busy)'}", flush=True)
    return {"quiet": busy <= QUIET, "means": means}


def fair(blocks):
    quiet = [block for block in blocks if block["quiet"]]
    return quiet if 2 * len(quiet) >= len(blocks) else blocks


def median_of(blocks, name, field):
    return statistics.median(block["means"][name][field] for block in blocks)


def ratio(blocks, name, field):
    ratios = [block["means"]["cogen"][field] / block["means"][name][field] for block in blocks]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def table(results, systems, field, title):
    peers = [system.name for system in systems[1:]]
    heads = ["requests", "cogen"] + [head for name in peers for head in (name, "ratio (range)")]
    lines = [f"{title}, tokens/s", "", "| " + " | ".join(heads) + " |", "|" + " ---: |" * len(heads)]
    for requests, blocks in results.items():
        used = fair(blocks)
        cells = [str(requests), f"{median_of(used, 'cogen', field):.0f}"]
        for name in peers:
            cells += [f"{median_of(used, name, field):.0f}", ratio(used, name, field)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} processors"


def page(given, systems, results):
    dropped = sum(len(blocks) - len(fair(blocks)) for blocks in results.values())
    noisy = sum(not block["quiet"] for blocks in results.values() for block in fair(blocks))
    about = (f"{given.model.name}; {given.prompt_tokens} prompt tokens and {given.new_tokens} new ones a request; "
             f"{processor()}.\n"
             f"Medians over {given.blocks} blocks, ratios within each block; "
             f"of those that did not begin quiet {dropped} were left out and {noisy} kept.\n")
    versions = "".join(f"- {system.name}: {system.version}\n" for system in systems)
    return "\n".join([about, versions, table(results, systems, DECODE, "Decoding"),
                      table(results, systems, PREFILL, "Prefill"),
                      table(results, systems, WHOLE, "New tokens over the whole run, prompts included")])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".deps/model/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--cogen", type=pathlib.Path, default=ROOT / "build/release/bench/throughput")
    parser.add_argument("--requests", default="1,4,8,16,32")
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before a block")
    given = parser.parse_args()
    given.requests = [int(number) for number in given.requests.split(",")]
    for path in (given.model, given.cogen):
        if not path.exists():
            parser.error(f"{path} does not exist")
    if given.blocks < 1 or min(given.requests) < 1:
        parser.error("--blocks and each of --requests must be at least 1")
    return given


def main():
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    systems = [Cogen(given)]
    for dtype in given.dtypes.split(","):
        print(f"loading Transformers {dtype} ...", flush=True)
        systems.append(Transformers(given, dtype))
    plan = list(itertools.product(given.requests, range(given.blocks)))
    results = {requests: [] for requests in given.requests}
    with (given.out / "raw.jsonl").open("w") as raw:
        for done, (requests, block) in enumerate(plan, 1):
            print(f"[{done}/{len(plan)}] requests {requests}, block {block + 1}: ", end="", flush=True)
            results[requests].append(run_block(systems, requests, block, raw, given.patience))
    for system in systems:
        system.close()
    text = page(given, systems, results)
    (given.out / "table.md").write_text(text)
    print("\n" + text)


if __name__ == "__main__":
    main()
