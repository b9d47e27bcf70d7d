"""Times decode steps of Transformers with each of its caches: for each line KIND LENGTH STEPS of standard input one JSON
object, with the same fields as `cache_curves latency --serve`.

The loop is the leanest that the library allows: one call of the model's forward for each token, without generate().
A prompt is read in one forward. A kind that cannot run says why, in the field "error".
"""

import argparse
import json
import os
import pathlib
import sys
import time

import torch
import transformers

LENIENT = 128  # tokens by which a static cache is longer than the prompt: the steps that are timed go there


def caches(config, length, steps_in_all):
    quantized = transformers.QuantizedCache
    return {
        "dynamic": lambda: transformers.DynamicCache(config=config),
        "static": lambda: transformers.StaticCache(config=config, max_cache_len=length + steps_in_all),
        "quanto int4": lambda: quantized("quanto", config, nbits=4),
        "hqq int4": lambda: quantized("hqq", config, nbits=4, axis_key=1, axis_value=1),
        "hqq int8": lambda: quantized("hqq", config, nbits=8, axis_key=1, axis_value=1),
        "fp8": lambda: quantized("fp8", config),
        "offloaded": lambda: transformers.DynamicCache(config=config, offloading=True),
    }


def load(path, dtype):
    path = pathlib.Path(path)
    where = {"gguf_file": path.name} if path.is_file() else {}
    folder = path.parent if path.is_file() else path
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), **where).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **where)
    return model, tokenizer


class Stopwatch:
    def __init__(self, model, ids, steps_in_all):
        self.model, self.ids, self.steps_in_all = model, ids, steps_in_all
        self.caches, self.length, self.places = {}, None, {}

    def begin(self, kind, length):
        if length != self.length:
            self.caches, self.places, self.length = {}, {}, length
        if kind not in self.caches:
            self.caches[kind] = caches(self.model.config, length, self.steps_in_all)[kind]()
            self.places[kind] = 0
            self.read(kind, length)

    def read(self, kind, count):
        at = self.places[kind]
        self.model(self.ids[:, at:at + count], past_key_values=self.caches[kind], use_cache=True, logits_to_keep=1)
        self.places[kind] += count

    def milliseconds(self, kind):
        begin = time.perf_counter()
        self.read(kind, 1)
        return (time.perf_counter() - begin) * 1000

    def measure(self, kind, length, steps):
        with torch.inference_mode():
            self.begin(kind, length)
            start = self.places[kind]
            return {"from": start, "milliseconds": [self.milliseconds(kind) for _ in range(steps)]}


def say(record):
    print(json.dumps(record), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file or a Hugging Face folder")
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16"])
    parser.add_argument("--tokens", type=int, default=8192, help="of the text, at most")
    parser.add_argument("--steps-in-all", type=int, default=LENIENT, help="steps measured at one length")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def main():
    given = arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(given.threads)
    model, tokenizer = load(given.model, given.dtype)
    words = given.text.read_text(encoding="utf-8")[:8 * given.tokens]
    watch = Stopwatch(model, tokenizer(words, return_tensors="pt").input_ids[:, :given.tokens], given.steps_in_all)
    say({"ready": f"Transformers {transformers.__version__}, torch {torch.__version__}, {given.threads} threads"})
    for line in sys.stdin:
        kind, length, steps = line.rsplit(" ", 2)
        where = {"what": "latency", "kind": kind, "length": int(length)}
        try:
            say({**where, **watch.measure(kind, int(length), int(steps))})
        except Exception as error:
            say({**where, "error": f"{type(error).__name__}: {str(error).splitlines()[0]}"})


if __name__ == "__main__":
    main()
