"""Transformers' generate on equal-length prompts, greedy, end of sequence ignored; prints one JSON object a line, with
the same fields as bench/throughput.

With --serve it loads the model once, says {"ready": ...}, and then measures each number of requests that it reads from
standard input, a line at a time.
"""

import argparse
import json
import os
import pathlib
import resource
import sys
import time

import torch
import transformers


class TokenTimes(transformers.StoppingCriteria):
    """Notes when each token of the batch was there; never stops."""

    def __init__(self):
        self.times = []

    def __call__(self, input_ids, scores, **kwargs):
        self.times.append(time.perf_counter())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


def prompts(requests, length, vocabulary):
    """The same ids as bench/throughput makes."""
    return [[(r * 1009 + j * 131 + 17) % (vocabulary - 64) + 32 for j in range(length)] for r in range(requests)]


def load(path, dtype):
    path = pathlib.Path(path)
    where = {"gguf_file": path.name} if path.is_file() else {}
    folder = path.parent if path.is_file() else path
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), **where).eval()
    model.generation_config = transformers.GenerationConfig(do_sample=False, eos_token_id=None, pad_token_id=0)
    return model


def generate(model, ids, new_tokens):
    """Seconds until the first token of every request, and from there to the last."""
    clock = TokenTimes()
    start = time.perf_counter()
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens,
                             stopping_criteria=transformers.StoppingCriteriaList([clock]))
    assert out.shape[1] == ids.shape[1] + new_tokens and len(clock.times) == new_tokens
    return clock.times[0] - start, clock.times[-1] - clock.times[0]


def measure(model, dtype, requests, prompt_tokens, new_tokens):
    ids = torch.tensor(prompts(requests, prompt_tokens, model.config.vocab_size))
    generate(model, ids, 2)
    prefill, decode = generate(model, ids, new_tokens)
    return {
        "requests": requests,
        "decode_tokens_per_second": round(requests * (new_tokens - 1) / decode, 2),
        "prefill_tokens_per_second": round(requests * prompt_tokens / prefill, 2),
        "tokens_per_second": round(requests * new_tokens / (prefill + decode), 2),
        "time_to_first_token_ms": round(prefill * 1000, 2),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "bytes_per_step": sum(p.numel() * p.element_size() for p in model.parameters()),
        "weight_type": dtype,
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file or a Hugging Face folder")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--requests", default="1,4,8,16,32")
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.new_tokens < 2 or given.prompt_tokens < 1 or given.threads < 1:
        parser.error("--new-tokens must be at least 2, --prompt-tokens and --threads at least 1")
    return given


def main():
    given = arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(given.threads)
    model = load(given.model, given.dtype)
    say = lambda record: print(json.dumps(record), flush=True)
    if given.serve:
        say({"ready": f"Transformers {transformers.__version__}, torch {torch.__version__}, {given.threads} threads"})
    for requests in sys.stdin if given.serve else given.requests.split(","):
        say(measure(model, given.dtype, int(requests), given.prompt_tokens, given.new_tokens))


if __name__ == "__main__":
    main()
