"""How fast kernels of others attend on the same device: what bench/device and bench/cuda_kernels may be compared with.

Kernels: `flash` and `cudnn` are those of torch's scaled_dot_product_attention; `flashinfer` is FlashInfer's, of prompts
over ragged keys, of decoding over paged ones. Random bfloat16 numbers; prompts attend causally to themselves; requests
that decode attend with one token to those held. So many inputs take turns that no cache of the device holds them, and
on a GPU all calls of a run are one CUDA graph. One line of JSON a cell and kernel: milliseconds a call, TFLOP/s
(prompts) or GB of keys and values a second (decoding), and the largest difference from a float32 computation. What is
not there, or refuses a cell, is said and skipped. Needs a Python with torch (2.11); FlashInfer, which compiles its
kernels by nvcc, if it is to be measured. Nothing is installed.
"""
import argparse
import dataclasses
import functools
import importlib.util
import json
import math
import time
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from cells import cells, positive, spread
from llama_shapes import SHAPES

COLD_BYTES = 256e6  # more than any cache of a GPU holds
FEWEST_CALLS = 16
WORKSPACE_BYTES = 256 << 20
PAGE_TOKENS = 16


@dataclasses.dataclass(frozen=True)
class Cell:
    prompt: bool
    requests: int
    tokens: int
    heads: int
    kv_heads: int
    head_dim: int

    @property
    def rows(self):
        """Of queries, a request."""
        return self.tokens if self.prompt else 1

    @property
    def operations(self):
        pairs = self.tokens * (self.tokens + 1) // 2 if self.prompt else self.tokens
        return 4 * self.requests * self.heads * self.head_dim * pairs

    @property
    def cache_bytes(self):
        return 2 * 2 * self.requests * self.tokens * self.kv_heads * self.head_dim


def random_inputs(cell, device):
    """Queries [requests, rows, heads, head_dim], keys and values [requests, tokens, kv_heads, head_dim]."""
    random = functools.partial(torch.randn, dtype=torch.bfloat16, device=device)
    held = cell.requests, cell.tokens, cell.kv_heads, cell.head_dim
    return random(cell.requests, cell.rows, cell.heads, cell.head_dim), random(held), random(held)


def by_sdpa(backend, cell, device):
    def prompts(queries, keys, values):
        queries, keys, values = (each.transpose(1, 2) for each in (queries, keys, values))
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True).transpose(1, 2)

    def decode(queries, keys, values):
        """Queries that share a head of the cache are rows, all of which see every token."""
        grouped = queries.view(cell.requests, cell.kv_heads, -1, cell.head_dim)
        return F.scaled_dot_product_attention(grouped, keys.transpose(1, 2), values.transpose(1, 2))

    def attend(*inputs):
        with sdpa_kernel(backend):
            return (prompts if cell.prompt else decode)(*inputs)

    return attend


def by_flashinfer(cell, device):
    import flashinfer
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    heads = cell.heads, cell.kv_heads, cell.head_dim
    types = dict(q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16)
    each_request = torch.arange(cell.requests + 1, dtype=torch.int32, device=device)
    if cell.prompt:
        ragged = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(workspace, "NHD")
        ragged.plan(each_request * cell.tokens, each_request * cell.tokens, *heads, causal=True, **types)
        return lambda *inputs: ragged.run(*(each.flatten(0, 1) for each in inputs))
    page = math.gcd(cell.tokens, PAGE_TOKENS)
    pages = cell.tokens // page
    paged = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True)
    paged.plan(each_request * pages, torch.arange(cell.requests * pages, dtype=torch.int32, device=device),
               torch.full((cell.requests,), page, dtype=torch.int32, device=device), *heads, page, **types)

    def attend(queries, keys, values):
        in_pages = tuple(each.view(-1, page, cell.kv_heads, cell.head_dim) for each in (keys, values))
        return paged.run(queries[:, 0], in_pages)

    return attend


KERNELS = {"flash": functools.partial(by_sdpa, SDPBackend.FLASH_ATTENTION),
           "cudnn": functools.partial(by_sdpa, SDPBackend.CUDNN_ATTENTION),
           "flashinfer": by_flashinfer}


def in_float32(cell, queries, keys, values):
    """The same attention by products in float32, one head of the cache after another."""
    group = cell.heads // cell.kv_heads
    attended = torch.empty(queries.shape, dtype=torch.float32, device=queries.device)
    later = torch.ones(cell.rows, cell.tokens, dtype=torch.bool, device=queries.device)
    later = later.triu(1 + cell.tokens - cell.rows)
    for request in range(cell.requests):
        for head in range(cell.kv_heads):
            of_group = slice(head * group, (head + 1) * group)
            scores = queries[request, :, of_group].float().transpose(0, 1) @ keys[request, :, head].float().T
            weights = (scores / cell.head_dim**0.5).masked_fill_(later, -torch.inf).softmax(-1)
            attended[request, :, of_group] = (weights @ values[request, :, head].float()).transpose(0, 1)
    return attended


def run_of(calls, device):
    """A function that runs all calls and returns the milliseconds of one."""
    def by_host():
        begin = time.perf_counter()
        for call in calls:
            call()
        return 1000 * (time.perf_counter() - begin) / len(calls)

    if device == "cpu":
        return by_host
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        by_host()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def by_device():
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / len(calls)

    return by_device


def measured(attend, cell, inputs, expected, wanted):
    attended = attend(*inputs[0]).float()
    difference = (attended - expected.view(attended.shape)).abs().max().item()
    rounds = math.ceil(FEWEST_CALLS / len(inputs))
    run = run_of([functools.partial(attend, *each) for each in inputs * rounds], wanted.device)
    run()
    times = [run() for _ in range(wanted.repeat)]
    row = spread("ms", times, 4)
    seconds = row["ms"] / 1000
    if cell.prompt:
        row["tflops"] = round(cell.operations / seconds / 1e12, 3)
    else:
        row["gb_per_second"] = round(cell.cache_bytes / seconds / 1e9, 1)
    return row | {"largest_difference": float(f"{difference:.3g}")}


def measured_or_skipped(kernel, cell, inputs, expected, wanted):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            return measured(KERNELS[kernel](cell, wanted.device), cell, inputs, expected, wanted)
        except Exception as error:  # what one kernel cannot do, others may; torch's warnings say why it was refused
            reasons = [f"{type(error).__name__}: {error}", *(str(each.message) for each in warned)]
            return {"skipped": " ".join(" ".join(reasons).split())[:600]}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="8b", choices=list(SHAPES), help="whose heads")
    parser.add_argument("--prompts", type=cells, default="1x1024,1x8192,16x2048", help="prompts x tokens, as 16x2048")
    parser.add_argument("--decode", type=cells, default="1x1024,8x1024,64x1024,1x8192,64x8192",
                        help="requests x tokens held, as 8x1024")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="as flash,cudnn")
    parser.add_argument("--repeat", type=positive, default=7, help="runs of each cell: the median, and the range")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu is for trials with --shape tiny")
    wanted = parser.parse_args()
    wanted.kernels = wanted.kernels.split(",")
    for kernel in wanted.kernels:
        if kernel not in KERNELS:
            parser.error(f"argument --kernels: {kernel!r} is none of {', '.join(KERNELS)}")
    if wanted.device == "cuda" and not torch.cuda.is_available():
        parser.error("argument --device: torch sees no CUDA device; trials run with --device cpu --shape tiny")
    return wanted


def cells_of(wanted):
    shape = SHAPES[wanted.shape]
    heads = shape["num_attention_heads"], shape["num_key_value_heads"], shape["head_dim"]
    return [Cell(prompt, *each, *heads) for prompt, pairs in ((True, wanted.prompts), (False, wanted.decode))
            for each in pairs]


@torch.no_grad()
def main():
    wanted = options()
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if wanted.device == "cuda" else "cpu"
    print(json.dumps({"torch": torch.__version__, "device": name, "shape": wanted.shape}), flush=True)
    if "flashinfer" in wanted.kernels and not importlib.util.find_spec("flashinfer"):
        wanted.kernels.remove("flashinfer")
        print(json.dumps({"kernel": "flashinfer", "skipped": "this Python has no flashinfer"}), flush=True)
    for cell in cells_of(wanted):
        copies = min(FEWEST_CALLS * 4, math.ceil(COLD_BYTES / cell.cache_bytes)) if wanted.device == "cuda" else 2
        inputs = [random_inputs(cell, wanted.device) for _ in range(copies)]
        expected = in_float32(cell, *inputs[0])
        for kernel in wanted.kernels:
            row = {"kernel": kernel, "of": "prompts" if cell.prompt else "decode", "requests": cell.requests,
                   "tokens": cell.tokens}
            print(json.dumps(row | measured_or_skipped(kernel, cell, inputs, expected, wanted)), flush=True)


if __name__ == "__main__":
    main()
