#!/usr/bin/env python3
"""What bench/grammar measures, of llguidance: python bench/grammar/llguidance_masks.py FILE.jsonl...

Reads the same lines, compiles each schema once, and walks its valid instances, written without spaces, token by token of
the default model's tokenizer. Prints processor time of one thread. Needs the packages `llguidance`, `transformers` and
`gguf`.
"""
import json
import pathlib
import sys
import time

import llguidance
import llguidance.hf
import llguidance.numpy
import transformers

MODEL = pathlib.Path(__file__).resolve().parents[2] / ".deps/model/SmolLM2-135M-Instruct.Q4_1.gguf"


def microseconds():
    return time.thread_time_ns() / 1000


def quantile(values, share):
    return sorted(values)[int(share * (len(values) - 1))] if values else 0


class Bench:
    def __init__(self):
        self.text_tokens = transformers.AutoTokenizer.from_pretrained(MODEL.parent, gguf_file=MODEL.name)
        self.tokens = llguidance.hf.from_tokenizer(self.text_tokens)
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokens.vocab_size)
        self.compiles, self.masks, self.refused, self.rejected = [], [], 0, 0

    def run(self, line):
        start = microseconds()
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(line["schema"]))
            matcher = llguidance.LLMatcher(self.tokens, grammar)
        except ValueError:
            self.refused += 1
            return
        took = microseconds() - start
        if matcher.is_error():
            self.refused += 1
            return
        self.compiles.append(took / 1000)
        for test in line["tests"]:
            if test["valid"]:
                self.walk(matcher, json.dumps(test["data"], separators=(",", ":"), ensure_ascii=False))

    def walk(self, matcher, text):
        matcher.reset()
        for token in self.text_tokens.encode(text, add_special_tokens=False):
            start = microseconds()
            llguidance.numpy.fill_next_token_bitmask(matcher, self.mask)
            self.masks.append(microseconds() - start)
            if not matcher.consume_token(token):
                self.rejected += 1
                return

    def print(self):
        print(f"{len(self.compiles)} schemas, {self.refused} refused, {self.rejected} instances rejected")
        for what, values in (("compile ms", self.compiles), ("mask us", self.masks)):
            p50, p99, most = quantile(values, 0.5), quantile(values, 0.99), max(values)
            print(f"{what}: median {p50:.2f}, 99 % {p99:.1f}, worst {most:.0f}, of {len(values)}")


bench = Bench()
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as lines:
        for each in lines:
            bench.run(json.loads(each))
bench.print()
