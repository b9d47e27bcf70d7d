"""How fast Transformers generates on the same device, with the same shapes and cells as bench/device.

Random weights in bfloat16; greedy; the end of sequence is ignored. Two ways: generate() with a static cache, compiled
where asked for, and continuous batching. Needs a Python with torch and transformers; nothing is installed.
"""
import argparse
import json
import time

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig

from cells import cells, prompts
from llama_shapes import NORM_EPSILON, ROTATION_BASE, SHAPES


def make_model(shape, attention):
    config = LlamaConfig(**SHAPES[shape], rms_norm_eps=NORM_EPSILON, rope_theta=ROTATION_BASE)
    config._attn_implementation = attention
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(before)
    return model.eval()


class Times:
    """A streamer-like logits processor: when each step came."""

    def __init__(self):
        self.at = []

    def __call__(self, ids, scores):
        torch.cuda.synchronize()
        self.at.append(time.perf_counter())
        return scores


def by_generate(model, requests, context, new_tokens, compiled):
    ids = torch.tensor(prompts(requests, context, model.config.vocab_size), device="cuda")
    config = GenerationConfig(max_new_tokens=new_tokens, min_new_tokens=new_tokens, do_sample=False, use_cache=True,
                              cache_implementation="static", pad_token_id=0, eos_token_id=None,
                              disable_compile=not compiled)
    best = None
    for _ in range(2):
        times = Times()
        begin = time.perf_counter()
        model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, logits_processor=[times])
        torch.cuda.synchronize()
        rate = requests * (len(times.at) - 2) / (times.at[-1] - times.at[1])
        first = times.at[0] - begin
        best = max(best or (0, 0), (rate, first))
    return {"decode_tokens_per_second": round(best[0], 1), "first_token_ms": round(1000 * best[1], 1)}


def by_continuous_batching(model, requests, context, new_tokens, options):
    from transformers import ContinuousBatchingConfig
    config = GenerationConfig(max_new_tokens=new_tokens, do_sample=False, eos_token_id=-1, pad_token_id=0)
    inputs = prompts(requests, context, model.config.vocab_size)
    best = 0
    for _ in range(2):
        outputs = model.generate_batch(inputs=inputs, generation_config=config, progress_bar=False, record_timestamps=True,
                                       continuous_batching_config=ContinuousBatchingConfig(**options))
        times = [each.timestamps for each in outputs.values()]
        begun, first_end = max(each[0] for each in times), min(each[-1] for each in times)
        decoded = sum(sum(begun < at <= first_end for at in each) for each in times)
        best = max(best, decoded / max(1e-9, first_end - begun))
    return {"decode_tokens_per_second": round(best, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="1b", choices=list(SHAPES))
    parser.add_argument("--cells", type=cells, default="1x1024,32x1024",
                        help="requests x tokens that each has read, as 8x1024")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--compile", action="store_true", help="compile generate()'s forward")
    parser.add_argument("--ways", default="generate,batching")
    parser.add_argument("--attention", default="sdpa",
                        help="Transformers' attn_implementation; flash_attention_2 needs the package flash-attn")
    wanted = parser.parse_args()
    torch.manual_seed(0)
    ways = wanted.ways.split(",")
    for way in ways:  # continuous batching works in threads of its own, which know no inference mode of ours
        with torch.inference_mode(way == "generate"):
            model = make_model(wanted.shape, wanted.attention)
            for requests, context in wanted.cells:
                row = {"system": "transformers", "way": way, "attention": wanted.attention, "requests": requests,
                       "context": context}
                begin = time.perf_counter()
                try:
                    if way == "generate":
                        row |= by_generate(model, requests, context, wanted.new_tokens, wanted.compile)
                    else:
                        row |= by_continuous_batching(model, requests, context, wanted.new_tokens,
                                                      {"use_cuda_graph": True, "use_async_batching": True})
                except Exception as error:  # a cell that cannot be run is reported, and the others run
                    row["error"] = f"{type(error).__name__}: {error}"[:400]
                row["seconds"] = round(time.perf_counter() - begin, 1)
                print(json.dumps(row), flush=True)
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
