"""The tokens a second that a machine could come to at best, from a model's shape and from what bench/limits measured.

A step reads all weights once, and the cached keys and values of each request once. It has three parts, which follow one
another (the first two in each layer, so that what one leaves idle the other cannot use):

    layers     the matrices of all layers, and the norms
    attention  queries by keys, and weights by values
    head       the last matrix

    seconds of a part = max(bytes / bytes a second, sum over kinds of numbers (products / products a second))
    seconds of a step = layers + attention + head
    tokens a second   = tokens of the step / seconds of a step

Bytes a second are those of memory, or where caches keep some of what a step reads until the next one, those at which as
many bytes are read over and over (with_caches).

A product is one multiply and the add after it. Nothing else is counted: softmax, norms, rotations, rounding, unpacking,
what threads wait for each other, or moving activations.
"""

import dataclasses
import json
import subprocess

LANES = 64       # outputs are padded to so many
GROUP = 32       # inputs that share a scale
GROUP_BYTES = {  # as lib/kernels/weight_storage.hpp packs a group of each format
    "f32": 128, "f16": 64, "bf16": 64, "q4_0": 18, "q4_1": 20, "q5_0": 34, "q5_1": 36, "q8_0": 34, "q4_k": 24,
    "q5_k": 40, "q6_k": 40}
KV_BYTES = 2     # of a key's or value's number: 16 bits, as cogen keeps them but for models in float32
GIGA = 1e9


def measured(program, step_bytes):
    """What bench/limits says: gigabytes a second, and thousand millions of products a second by kind of numbers."""
    command = [program, "--json", "--again", str(max(1, round(step_bytes / 1e6)))]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def with_caches(rates):
    """The same machine where it reads the bytes of one step over and over, and caches keep what they can of them."""
    return {**rates, "gigabytes": max(rates["gigabytes"], rates["gigabytes_again"])}


@dataclasses.dataclass(frozen=True)
class Step:
    """What is asked of the model at once."""
    tokens: int   # that the step reads
    outputs: int  # of them, those that are followed by a new one: the others skip the last feed-forward and the head
    cached: float # tokens whose keys and values are read
    pairs: float  # of a query and a key that it sees
    longest: int  # tokens of a request


def decode(requests, context, new_tokens):
    """The middle one of the steps that are timed."""
    seen = requests * (context + new_tokens / 2)
    return Step(requests, requests, seen, seen, context + new_tokens)


def prefill(prompt_tokens):
    """As if all of it were one step."""
    return Step(prompt_tokens, 1, prompt_tokens, prompt_tokens * (prompt_tokens + 1) / 2, prompt_tokens)


def step_of(cell):
    """None of cells whose figure is no steps' rate."""
    if cell.part == "decode":
        return decode(cell.requests, cell.context, cell.new_tokens)
    return prefill(cell.prompt_tokens) if cell.part == "prefill" else None


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    bytes: float
    products: dict  # kind of numbers, as bench/limits names it -> how many

    def seconds(self, rates):
        return max(self.reading(rates), self.computing(rates))

    def reading(self, rates):
        return self.bytes / (rates["gigabytes"] * GIGA)

    def computing(self, rates):
        return sum(count / (rates[kind] * GIGA) for kind, count in self.products.items())

    def bound(self, rates):
        """What takes its time."""
        return "memory" if self.reading(rates) >= self.computing(rates) else " and ".join(self.products)


def packed_bytes(tensor):
    if tensor.outputs == 1:
        return 4 * tensor.inputs
    padded = -(-tensor.outputs // LANES) * LANES
    return padded * tensor.inputs * GROUP_BYTES[tensor.form] / GROUP


def kind_of(tensor, fast, rates):
    """The numbers that its products are of. bf16 matrices take whatever the machine multiplies faster."""
    if not fast or tensor.form in ("f32", "f16"):
        return "float32"
    if tensor.form == "bf16":
        return max(("float32", "bf16"), key=rates.get)
    return "int8"


def rows_of(tensor, shape, step):
    last_feed = tensor.name.startswith(f"blk.{shape.layers - 1}.ffn_")
    return step.outputs if last_feed or tensor.name == "output.weight" else step.tokens


def matrices(name, tensors, shape, step, kind):
    products = {}
    for tensor in tensors:
        if tensor.outputs > 1:
            count = tensor.inputs * tensor.outputs * rows_of(tensor, shape, step)
            products[kind(tensor)] = products.get(kind(tensor), 0) + count
    return Part(name, sum(map(packed_bytes, tensors)), products)


def cached_bytes(shape, step):
    return step.cached * shape.layers * 2 * shape.kv_heads * shape.head_dim * KV_BYTES


def step_bytes(shape, step):
    return sum(map(packed_bytes, shape.tensors)) + cached_bytes(shape, step)


def step_products(shape, step):
    return attended(shape, step) + sum(tensor.inputs * tensor.outputs * rows_of(tensor, shape, step)
                                       for tensor in shape.tensors if tensor.outputs > 1)


def attended(shape, step):
    return step.pairs * shape.layers * 2 * shape.heads * shape.head_dim


def parts(shape, step, fast, rates):
    def kind(tensor):
        return kind_of(tensor, fast, rates)
    head = [tensor for tensor in shape.tensors if tensor.name == "output.weight"]
    others = [tensor for tensor in shape.tensors if tensor.name != "output.weight"]
    attention = Part("attention", cached_bytes(shape, step), {"float32": attended(shape, step)})
    return [matrices("layers", others, shape, step, kind), attention, matrices("head", head, shape, step, kind)]


def tokens_per_second(shape, step, fast, rates):
    return step.tokens / sum(part.seconds(rates) for part in parts(shape, step, fast, rates))
