#!/usr/bin/env python3
"""Simulates large models over several hosts, from times measured on this machine and a network's stated figures.

  bench/hosts/simulate.py [--build build/release] [--network "10 GbE"] [--json]

A step of R rows takes, of each layer, the longer of two times: reading its weights and keys at the rate at which a
process reads them here, and multiplying R rows at the rate measured for prompts here. To that come two sums of
[R, hidden] float32 a layer between tensor ranks, or one transfer between stages, by the network's latency and bandwidth.
Of experts a step reads those that its rows choose, drawn at random; the rank with the most decides. Of stages, two
steps are in flight, each with half of the rows; nothing else overlaps.

First the model of a step is checked against what one and two processes measure here, for the default model.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Bits of a weight: 4 and a scale and minimum of 16 bits for 32 of them (Q4_1); of a number in keys and values: 16.
WEIGHT_BITS = 5
KV_BYTES = 2

NETWORKS = {  # one way: seconds of an empty message, bytes a second
    "10 GbE": (30e-6, 1.1e9),
    "100 GbE": (15e-6, 11e9),
    "InfiniBand HDR": (2e-6, 23e9),
}


class Shape:
    """Sizes of a model, and what one rank has of it."""

    def __init__(self, name, hidden, layers, heads, kv_heads, head_dim, width, vocabulary, experts=0, chosen=0,
                 expert_width=0, dense_every=1):
        self.name, self.hidden, self.layers, self.heads, self.kv_heads = name, hidden, layers, heads, kv_heads
        self.head_dim, self.width, self.vocabulary = head_dim, width, vocabulary
        self.experts, self.chosen, self.expert_width, self.dense_every = experts, chosen, expert_width, dense_every

    def attention(self):
        return self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)

    def feed_forward(self):
        return 3 * self.hidden * self.width

    def expert(self):
        return 3 * self.hidden * self.expert_width

    def expert_layers(self):
        return self.layers // 2 if self.experts and self.dense_every == 2 else self.layers if self.experts else 0

    def weights(self):
        experts = self.expert_layers() * self.experts * self.expert()
        return self.layers * (self.attention() + self.feed_forward()) + experts + self.vocabulary * self.hidden

    def kv_bytes(self, tokens):
        return 2 * self.layers * self.kv_heads * self.head_dim * KV_BYTES * tokens


MODELS = [
    Shape("70B, dense (Llama 3.1)", 8192, 80, 64, 8, 128, 28672, 128256),
    # Every second layer has 128 experts, of which one is chosen beside a shared one, here its feed-forward.
    Shape("400B, experts (Llama 4 Maverick)", 5120, 48, 40, 8, 128, 8192, 202048, experts=128, chosen=1,
          expert_width=8192, dense_every=2),
]
SMALL = Shape("SmolLM2-135M", 576, 30, 9, 3, 64, 1536, 49152)


def share(count, ranks):
    """Of so many heads or columns, the fraction of the rank that has the most."""
    return -(-count // ranks) / count


def sum_time(numbers, ranks, network):
    """As rank_group::sum(): all parts to all ranks at once, or slices there and back."""
    latency, bandwidth = network
    if ranks == 1:
        return 0
    if ranks > 2 and numbers >= 1 << 14:
        return 2 * (latency + 4 * numbers * (ranks - 1) / ranks / bandwidth)
    return latency + 4 * numbers * (ranks - 1) / bandwidth


def experts_read(shape, rows, ranks, rounds=50):
    """Experts of the rank that reads the most, of those that `rows` rows choose."""
    own = -(-shape.experts // ranks)
    generator = random.Random(1)
    most = []
    for _ in range(rounds):
        read = {generator.randrange(shape.experts) for _ in range(rows * shape.chosen)}
        most.append(max(sum(1 for expert in read if expert // own == rank) for rank in range(ranks)))
    return statistics.mean(most)


def step_time(shape, rows, tokens, tensor, stages, host, network):
    """Seconds of a step in which `rows` sequences of `tokens` tokens get one each."""
    reading, multiplying = host
    heads = share(shape.kv_heads, tensor) if tensor <= shape.kv_heads else share(shape.heads, tensor)
    keys = share(shape.kv_heads, tensor) if tensor <= shape.kv_heads else 1 / shape.kv_heads
    dense = shape.attention() * heads + shape.feed_forward() * share(shape.width, tensor)
    read = shape.layers * dense
    multiplied = read * rows
    if shape.experts:
        read += shape.expert_layers() * experts_read(shape, rows, tensor) * shape.expert()
        multiplied += shape.expert_layers() * rows * shape.chosen * shape.expert() / tensor
    head = shape.vocabulary * shape.hidden * share(shape.vocabulary, tensor)
    read, multiplied = read + head, multiplied + head * rows
    memory = read * WEIGHT_BITS / 8 + rows * shape.kv_bytes(tokens) * keys
    compute = max(memory / reading, multiplied / multiplying)
    wire = 2 * shape.layers * sum_time(rows * shape.hidden, tensor, network)
    if stages > 1:
        wire += (stages - 1) * (network[0] + 4 * rows * shape.hidden / network[1])
    if tensor * stages > 1:  # the logits
        wire += network[0] + 4 * rows * shape.vocabulary * (1 - 1 / tensor if stages == 1 else 1) / network[1]
    return compute, wire


def gap_time(shape, rows, tokens, tensor, stages, host, network):
    """Seconds between two tokens of a sequence, and of them those on the network: two steps take turns on the stages."""
    return step_time(shape, rows if stages == 1 else half(rows), tokens, tensor, stages, host, network)


def half(rows):
    return (rows + 1) // 2


def memory_gib(shape, rows, tokens, tensor, stages):
    keys = share(shape.kv_heads, tensor) if tensor <= shape.kv_heads else 1 / shape.kv_heads
    weights = shape.weights() * WEIGHT_BITS / 8 / tensor / stages
    return (weights + rows * shape.kv_bytes(tokens) * keys / stages) / 2**30


def run(command):
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def throughput(build, ranks, requests, repeat, split="tensor", new_tokens=48):
    command = [f"{build}/bench/throughput", "--threads", "1", "--json", "--requests", ",".join(map(str, requests)),
               "--new-tokens", str(new_tokens), "--repeat", str(repeat)]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "-n", str(ranks)] + command + [f"--{split}", str(ranks)]
    return {one["requests"]: one for one in map(json.loads, filter(None, run(command).splitlines()))}


def wire_here(build):
    """Latency and bandwidth of sums between two processes of this machine."""
    times = {}
    for line in run(["mpirun", "-n", "2", f"{build}/bench/ranks", "--hidden", "576", "--rows", "1", "256"]).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[0].isdigit():
            times[int(fields[1])] = float(fields[2]) * 1e-6
    bandwidth = 4 * 576 * 255 / (times[256] - times[1])
    return times[1], bandwidth


def check(build, repeat):
    """Prints predicted and measured times of a step, and returns this machine's rates."""
    rows = [1, 8, 32]
    one = throughput(build, 1, sorted({*rows, *map(half, rows)}), repeat)
    two = throughput(build, 2, rows, repeat)
    stages = throughput(build, 2, rows, repeat, "pipeline")
    step = {n: n / one[n]["decode_tokens_per_second"] for n in one}
    read = SMALL.weights() * WEIGHT_BITS / 8
    host = read / step[1], SMALL.weights() * 512 / (512 / throughput(build, 1, [1], repeat, new_tokens=8)[1][
        "prefill_tokens_per_second"])
    wire = wire_here(build)
    print(f"one process reads {host[0] / 1e9:.1f} GB/s of weights and multiplies {host[1] / 1e9:.0f} G weights/s; "
          f"two add up {wire[1] / 1e9:.1f} GB/s and {wire[0] * 1e6:.1f} us a sum\n")
    def compare(title, predict, measured):
        print(f"{title:>12}{'1 process':>12}{'predicted':>11}{'measured':>10}{'ratio':>8}   ms between two tokens")
        for n in rows:
            predicted, seen = predict(n), n / measured[n]["decode_tokens_per_second"]
            print(f"{n:>12}{step[n] * 1e3:>12.2f}{predicted * 1e3:>11.2f}{seen * 1e3:>10.2f}{seen / predicted:>8.2f}")
        print()

    split = step_time(SMALL, 1, 100, 2, 1, (1, 1e30), wire)[0] / step_time(SMALL, 1, 100, 1, 1, (1, 1e30), wire)[0]
    compare("2 tensor", lambda n: step[n] * split + gap_time(SMALL, n, 100, 2, 1, host, wire)[1], two)
    compare("2 stages", lambda n: step[half(n)] + gap_time(SMALL, n, 100, 1, 2, host, wire)[1], stages)
    return host


def layouts(hosts, shape):
    tensor = 1
    while tensor <= hosts:
        if hosts % tensor == 0 and tensor <= shape.heads:
            yield tensor, hosts // tensor
        tensor *= 2


def simulate(host, processes, network_name, tokens=2048):
    """A host reads and multiplies as many times as fast as one process here as it has such processes."""
    network = NETWORKS[network_name]
    rates = host[0] * processes, host[1] * processes
    print(f"hosts like {processes} processes of this machine ({rates[0] / 1e9:.0f} GB/s), {network_name} "
          f"({network[0] * 1e6:.0f} us, {network[1] / 1e9:.1f} GB/s), {tokens} tokens a sequence")
    for shape in MODELS:
        print(f"\n{shape.name}: {shape.weights() / 1e9:.0f} G weights")
        print(f"{'hosts':>6}{'tensor':>8}{'stages':>8}{'requests':>10}{'tokens/s':>10}{'gap ms':>9}{'wire':>7}{'GiB a host':>12}")
        for hosts in (2, 4, 8, 16):
            for tensor, stages in layouts(hosts, shape):
                for rows in (1, 16, 64):
                    compute, wire = gap_time(shape, rows, tokens, tensor, stages, rates, network)
                    gap = compute + wire
                    print(f"{hosts:>6}{tensor:>8}{stages:>8}{rows:>10}{rows / gap:>10.1f}{gap * 1e3:>9.1f}"
                          f"{100 * wire / gap:>6.0f}%{memory_gib(shape, rows, tokens, tensor, stages):>12.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="folder with bench/throughput and bench/ranks")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each measurement, of which the median counts")
    parser.add_argument("--processes", type=int, default=16, help="of those measured here, as many as a host has")
    parser.add_argument("--network", choices=NETWORKS, default="100 GbE")
    given = parser.parse_args()
    simulate(check(given.build, given.repeat), given.processes, given.network)


if __name__ == "__main__":
    main()
