"""How fast PyTorch alone decodes: the shapes and cells of bench/device in a loop around one compiled function.

Llama's layers with random bfloat16 weights and a static cache, greedy. A step finds its tokens where the step before it
wrote them, so that the host only starts steps, each of which is one CUDA graph. Prompts run eagerly, or compiled apart.
The first run of a cell compiles and is not counted. Needs a Python with torch (2.11), and for a GPU its Triton;
compiling for a CPU needs a C++ compiler. Nothing is installed. One line of JSON a cell: `decode_tokens_per_second` of
all requests together, and in `first_token_ms` how long it takes until all of them have their first token.
"""
import argparse
import contextlib
import gc
import json
import sys
import time

import torch
import torch.nn.functional as F

from cells import cells, positive, prompts, spread
from llama_shapes import NORM_EPSILON, ROTATION_BASE, SHAPES

FEWEST_NEW_TOKENS = 8  # a compiled step is recorded as a graph when it runs for the second time


def random_matrix(rows, columns):
    return torch.nn.Parameter(torch.randn(rows, columns) * columns**-0.5, requires_grad=False)


def unit_norm(size):
    return torch.nn.Parameter(torch.ones(size), requires_grad=False)


def normalized(hidden, weight):
    return F.rms_norm(hidden, weight.shape, weight, NORM_EPSILON)


def angles(length, head_dim):
    """Of each position and pair of numbers, [length, head_dim / 2]."""
    frequencies = ROTATION_BASE ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    return torch.outer(torch.arange(length, dtype=torch.float64), frequencies).float()


def rotated(heads, cosines, sines):
    """heads [requests, tokens, heads, head_dim], cosines and sines [tokens, 1, head_dim / 2]."""
    first, second = heads.float().chunk(2, -1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1).to(heads.dtype)


def attend_within_prompt(layer, queries, keys, values, positions):
    queries, keys, values = (each.transpose(1, 2) for each in (queries, keys, values))
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True).transpose(1, 2)


def attend_by_products(layer, queries, keys, values, position):
    queries = layer.grouped(queries)
    scores = (queries @ layer.keys.transpose(-1, -2)).float() * queries.shape[-1] ** -0.5
    weights = scores.masked_fill(layer.later_than(position), -torch.inf).softmax(-1)
    return weights.to(layer.values.dtype) @ layer.values


def attend_by_sdpa(layer, queries, keys, values, position):
    seen = ~layer.later_than(position)
    return F.scaled_dot_product_attention(layer.grouped(queries), layer.keys, layer.values, attn_mask=seen)


ATTENTION = {"products": attend_by_products, "sdpa": attend_by_sdpa}


class Layer(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.kv_heads, self.head_dim = shape["num_key_value_heads"], shape["head_dim"]
        self.parts = [shape["num_attention_heads"], self.kv_heads, self.kv_heads]
        hidden, inner = shape["hidden_size"], shape["intermediate_size"]
        self.attention_norm, self.gated_norm = unit_norm(hidden), unit_norm(hidden)
        self.queries_keys_values = random_matrix(sum(self.parts) * self.head_dim, hidden)
        self.output = random_matrix(hidden, self.parts[0] * self.head_dim)
        self.gate_and_up = random_matrix(2 * inner, hidden)
        self.down = random_matrix(hidden, inner)

    def reserve(self, requests, length):
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(requests, self.kv_heads, length, self.head_dim))

    def grouped(self, queries):
        """Queries of one token; those that share a head of the cache are rows: [requests, kv_heads, rows, head_dim]."""
        return queries.view(len(queries), self.kv_heads, -1, self.head_dim)

    def later_than(self, position):
        return (torch.arange(self.keys.shape[2], device=position.device) > position).view(1, 1, 1, -1)

    def forward(self, hidden, requests, positions, rotation, attend):
        """hidden [requests, tokens, hidden]; its tokens stand at `positions`, and are kept in the cache."""
        heads = F.linear(normalized(hidden, self.attention_norm), self.queries_keys_values)
        queries, keys, values = heads.unflatten(-1, (-1, self.head_dim)).split(self.parts, 2)
        queries, keys = rotated(queries, *rotation), rotated(keys, *rotation)
        self.keys[requests[:, None], :, positions] = keys
        self.values[requests[:, None], :, positions] = values
        attended = attend(self, queries, keys, values, positions)
        hidden = hidden + F.linear(attended.reshape(*hidden.shape[:2], -1), self.output)
        gate, up = F.linear(normalized(hidden, self.gated_norm), self.gate_and_up).chunk(2, -1)
        return hidden + F.linear(F.silu(gate) * up, self.down)


class Llama(torch.nn.Module):
    def __init__(self, shape, attention):
        super().__init__()
        self.shape, self.attend = shape, ATTENTION[attention]
        self.embedding = random_matrix(shape["vocab_size"], shape["hidden_size"])
        self.head = self.embedding
        if not shape["tie_word_embeddings"]:
            self.head = random_matrix(shape["vocab_size"], shape["hidden_size"])
        self.layers = torch.nn.ModuleList(Layer(shape) for _ in range(shape["num_hidden_layers"]))
        self.norm = unit_norm(shape["hidden_size"])

    def reserve(self, requests, length):
        """Texts and caches for so many requests; earlier ones are gone."""
        for layer in self.layers:
            layer.reserve(requests, length)
        turned = angles(length, self.shape["head_dim"])[:, None]
        self.register_buffer("cosines", turned.cos())
        self.register_buffer("sines", turned.sin())
        self.register_buffer("texts", torch.zeros(requests, length, dtype=torch.long))
        self.register_buffer("requests", torch.arange(requests))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))

    def following(self, tokens, requests, positions, attend):
        """The most likely token behind each row of tokens [requests, tokens]: [requests, 1]."""
        rotation = self.cosines[positions], self.sines[positions]
        hidden = F.embedding(tokens, self.embedding)
        for layer in self.layers:
            hidden = layer(hidden, requests, positions, rotation, attend)
        return F.linear(normalized(hidden[:, -1], self.norm), self.head).argmax(-1, keepdim=True)

    def read_prompts(self, requests, context):
        """Reads the first tokens of the texts of these requests, and writes the next one behind them."""
        tokens = self.texts[requests, :context]
        positions = torch.arange(context, device=tokens.device)
        self.texts[requests, context] = self.following(tokens, requests, positions, attend_within_prompt)[:, 0]

    def step(self):
        """Runs the token of each text at `position`, writes the next one behind it, and goes on to that."""
        tokens = self.texts.index_select(1, self.position)
        following = self.following(tokens, self.requests, self.position, self.attend)
        self.position.add_(1)
        self.texts.index_copy_(1, self.position, following)


@contextlib.contextmanager
def made_on(device, dtype):
    """Tensors that are made meanwhile are there, and of this type unless they say another."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def random_llama(shape, attention, device, dtype):
    with made_on(device, dtype):
        return Llama(SHAPES[shape], attention)


def whole_vectors(length):
    """The next length that kernels read without a rest."""
    return -(-length // 64) * 64


class Loop:
    """Prompts and steps of one cell; the caches are in use until the next one is made."""

    def __init__(self, model, requests, context, wanted):
        torch.compiler.reset()
        torch._dynamo.utils.counters.clear()
        gc.collect()
        self.model, self.context, self.new_tokens = model, context, wanted.new_tokens
        self.device = model.embedding.device
        with made_on(self.device, model.embedding.dtype):
            model.reserve(requests, whole_vectors(context + wanted.new_tokens))
        self.texts = torch.tensor(prompts(requests, context, model.shape["vocab_size"]), device=self.device)
        self.groups = model.requests.split(max(1, wanted.prompt_tokens // context))
        self.step, self.read_prompts = model.step, model.read_prompts
        if not wanted.eager:
            self.step = torch.compile(model.step, mode=wanted.mode, fullgraph=True, dynamic=False)
        if wanted.compile_prompts:
            self.read_prompts = torch.compile(model.read_prompts, mode="max-autotune-no-cudagraphs", fullgraph=True,
                                              dynamic=False)

    def now(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def run(self):
        """Seconds until all have their first token, and from then until they have all."""
        self.model.texts.zero_()
        self.model.texts[:, :self.context] = self.texts
        self.model.position.fill_(self.context)
        begin = self.now()
        for requests in self.groups:
            self.read_prompts(requests, self.context)
        first = self.now()
        for _ in range(self.new_tokens - 1):
            torch.compiler.cudagraph_mark_step_begin()
            self.step()
        return first - begin, self.now() - first


def measured(model, requests, context, wanted):
    loop = Loop(model, requests, context, wanted)
    loop.run()
    first, decode = zip(*(loop.run() for _ in range(wanted.repeat)))
    steps = wanted.new_tokens - 1
    row = spread("decode_tokens_per_second", [requests * steps / seconds for seconds in decode], 1)
    row |= spread("step_ms", [1000 * seconds / steps for seconds in decode], 3)
    row |= spread("first_token_ms", [1000 * seconds for seconds in first], 2)
    if not wanted.eager:
        row["functions_without_graph"] = torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]
    return row


def naive_following(model, texts):
    """What follows texts [requests, tokens], computed anew without a cache."""
    shape, tokens = model.shape, texts.shape[1]
    group = shape["num_attention_heads"] // shape["num_key_value_heads"]
    turn = torch.polar(torch.ones(()), angles(tokens, shape["head_dim"])).to(texts.device)[:, None]
    hidden_from = torch.ones(tokens, tokens, dtype=torch.bool, device=texts.device).triu(1)

    def turned(heads):
        numbers = torch.complex(*heads.chunk(2, -1)) * turn
        return torch.cat((numbers.real, numbers.imag), -1)

    def norm(hidden):
        return hidden * (hidden.square().mean(-1, keepdim=True) + NORM_EPSILON).rsqrt()

    hidden = model.embedding[texts]
    for layer in model.layers:
        heads = (norm(hidden) @ layer.queries_keys_values.T).unflatten(-1, (-1, shape["head_dim"]))
        queries, keys, values = heads.split(layer.parts, 2)
        keys, values = (each.repeat_interleave(group, 2) for each in (turned(keys), values))
        scores = torch.einsum("rqhd,rkhd->rhqk", turned(queries), keys) / shape["head_dim"] ** 0.5
        weights = scores.masked_fill(hidden_from, -torch.inf).softmax(-1)
        hidden = hidden + torch.einsum("rhqk,rkhd->rqhd", weights, values).flatten(2) @ layer.output.T
        gate, up = (norm(hidden) @ layer.gate_and_up.T).chunk(2, -1)
        hidden = hidden + (gate * gate.sigmoid() * up) @ layer.down.T
    return (norm(hidden[:, -1]) @ model.head.T).argmax(-1)


def check(wanted):
    """None, or where the loop's tokens of a tiny model are not those of the naive computation."""
    requests, context = 5, 20
    wanted.prompt_tokens = 2 * context
    model = random_llama("tiny", wanted.attention, wanted.device, torch.float32)
    loop = Loop(model, requests, context, wanted)
    for _ in range(2):  # compiled steps are graphs in the second run
        loop.run()
    texts = loop.texts
    for _ in range(wanted.new_tokens):
        texts = torch.cat((texts, naive_following(model, texts)[:, None]), 1)
    differ = (model.texts[:, :texts.shape[1]] != texts).nonzero()
    return None if not len(differ) else "text {}, token {}".format(*differ[0].tolist())


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="1b", choices=list(SHAPES))
    parser.add_argument("--cells", type=cells, default="1x1024,32x1024",
                        help="requests x tokens that each has read, as 8x1024")
    parser.add_argument("--new-tokens", type=positive, default=64, help=f"at least {FEWEST_NEW_TOKENS}")
    parser.add_argument("--repeat", type=positive, default=7, help="runs of each cell: the median, and the range")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu is for trials with --shape tiny")
    parser.add_argument("--mode", default="max-autotune", choices=["max-autotune", "reduce-overhead"],
                        help="torch.compile's; both record CUDA graphs, and the second compiles in less time")
    parser.add_argument("--attention", default="products", choices=list(ATTENTION),
                        help="of a step: two products that the compiler sees, or scaled_dot_product_attention")
    parser.add_argument("--eager", action="store_true", help="do not compile steps")
    parser.add_argument("--compile-prompts", action="store_true")
    parser.add_argument("--prompt-tokens", type=positive, default=16384,
                        help="prompts of together so many tokens are read at once, but at least one")
    parser.add_argument("--check", action="store_true",
                        help="only compare tokens of a tiny float32 model with those of a computation without a cache")
    wanted = parser.parse_args()
    if wanted.new_tokens < FEWEST_NEW_TOKENS:
        parser.error(f"argument --new-tokens: at least {FEWEST_NEW_TOKENS}, not {wanted.new_tokens}")
    if wanted.device == "cuda" and not torch.cuda.is_available():
        parser.error("argument --device: torch sees no CUDA device; trials run with --device cpu --shape tiny")
    return wanted


@torch.no_grad()
def main():
    wanted = options()
    torch.manual_seed(0)
    if wanted.check:
        differ = check(wanted)
        print(f"differs from the computation without a cache: {differ}" if differ else "equal")
        sys.exit(1 if differ else 0)
    model = random_llama(wanted.shape, wanted.attention, wanted.device, torch.bfloat16)
    name = torch.cuda.get_device_name() if wanted.device == "cuda" else "cpu"
    print(json.dumps({"torch": torch.__version__, "device": name, "shape": wanted.shape}), flush=True)
    for requests, context in wanted.cells:
        row = {"system": "torch", "mode": "eager" if wanted.eager else wanted.mode, "attention": wanted.attention,
               "requests": requests, "context": context}
        begin = time.perf_counter()
        try:
            row |= measured(model, requests, context, wanted)
        except Exception as error:  # a cell that cannot be run is reported, and the others run
            row["error"] = f"{type(error).__name__}: {error}"[:400]
        row["seconds"] = round(time.perf_counter() - begin, 1)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
