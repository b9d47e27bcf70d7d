"""The table of bench/peers/quality, from the lines of cache_curves."""

import json
import math
import sys

NAMES = {"f32": "cogen float32, float32 cache", "f16": "cogen float32", "f16/compute-int8": "cogen int8"}


def name_of(kind):
    return "llama.cpp" if kind.startswith("logits:") else NAMES[kind]


def costs(line, reference):
    """By how much each window's perplexity differs: the mean of the differences in nats, and its standard error."""
    apart = [ours - theirs for ours, theirs in zip(line["window_nll"], reference["window_nll"])]
    mean = sum(apart) / len(apart)
    spread = math.sqrt(sum((one - mean) ** 2 for one in apart) / max(1, len(apart) - 1) / len(apart))
    return mean, spread


def row(line, reference):
    mean, error = costs(line, reference)
    cost = "–" if line is reference else f"{mean:+.2%} ± {error:.2%}"
    return (f"| {name_of(line['kind'])} | {line['perplexity']:.3f} | {cost} | {line['kl']:.5f} | {line['kl_99']:.4f} "
            f"| {line['agreement']:.1%} |")


def main():
    lines = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
    reference = lines[0]
    print(f"{sys.argv[2]}, {reference['tokens']:,} tokens in windows of {reference['context']:,}\n")
    print("| | perplexity | against float32 | divergence, mean | 99 % | same top token |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for line in lines:
        print(row(line, reference))


if __name__ == "__main__":
    main()
