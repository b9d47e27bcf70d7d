"""The tokens a second that a machine could come to at best, from a model's shape and from what bench/limits measured.

A step reads each weight that it needs once, the cached keys and values of each request once, and it reads and writes the
states of each request once. It has parts that follow one another (all but the last in each layer, so that what one leaves
idle another cannot use):

    layers     the matrices of all layers, and the norms
    attention  queries by keys, and weights by values
    states     of recurrent layers
    head       the last matrix

    seconds of a part = max(bytes / bytes a second, sum over kinds of numbers (products / products a second))
    seconds of a step = sum of its parts' seconds
    tokens a second   = tokens of the step / seconds of a step

Of E experts a token chooses k. R tokens that choose independently of one another, each k with the same probability, are
expected to need so many of them, which is what the step reads:

    E (1 - (1 - k / E)^R)

In a layer with a window of W tokens a query sees W keys at most, and what lies before all queries' windows is not read.
Attention's sinks are a number for each head, which is left out.

Bytes a second are those of memory, or where caches keep some of what a step reads until the next one, those at which as
many bytes are read over and over (with_caches).

A product is one multiply and the add after it. Nothing else is counted: softmax, norms, rotations, rounding, unpacking,
what threads wait for each other, or moving activations; nor the decay of a recurrent state.
"""

import dataclasses
import functools
import json
import subprocess

LANES = 64       # outputs are padded to so many
KV_BYTES = 2     # of a key's or value's number: 16 bits, as cogen keeps them but for models in float32
STATE_BYTES = 4  # of a recurrent state's number
GIGA = 1e9


def asked(program, *options):
    return json.loads(subprocess.run([program, *options], stdout=subprocess.PIPE, text=True, check=True).stdout)


@functools.cache
def weight_bits(program):
    """The bits of a weight as cogen keeps it, by the format that it has in the file."""
    return asked(program, "--weights")


def measured(program, step_bytes):
    """What bench/limits says: gigabytes a second, and thousand millions of products a second by kind of numbers."""
    return asked(program, "--json", "--again", str(max(1, round(step_bytes / 1e6))))


def with_caches(rates):
    """The same machine where it reads the bytes of one step over and over, and caches keep what they can of them."""
    return {**rates, "gigabytes": max(rates["gigabytes"], rates["gigabytes_again"])}


@dataclasses.dataclass(frozen=True)
class Step:
    """What is asked of the model at once."""
    requests: int
    tokens: int    # that it reads of each
    outputs: int   # of all tokens, those that are followed by a new one: the others skip the last feed-forward and the head
    before: float  # tokens of each request that earlier steps have read

    @property
    def rows(self):
        return self.requests * self.tokens

    def cached(self, window):
        """Tokens whose keys and values a layer reads."""
        return self.requests * min(self.before + self.tokens, window + self.tokens - 1)

    def pairs(self, window):
        """Of a query and a key that it sees."""
        seeing_all = max(0, min(self.tokens, window - self.before))
        others = self.tokens - seeing_all
        return self.requests * (seeing_all * (self.before + (seeing_all + 1) / 2) + (others and others * window))


def decode(requests, context, new_tokens):
    """The middle one of the steps that are timed."""
    return Step(requests, 1, requests, context + new_tokens / 2 - 1)


def prefill(prompt_tokens):
    """As if all of it were one step."""
    return Step(1, prompt_tokens, 1, 0)


def step_of(cell):
    """None for cells whose figure is not a rate of steps."""
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
    """Of all its copies."""
    if tensor.outputs == 1:
        return 4 * tensor.inputs * tensor.copies
    padded = -(-tensor.outputs // LANES) * LANES
    return padded * tensor.inputs * tensor.copies * tensor.bits / 8


def weight_bytes(shape):
    """Of all weights, those of all experts too."""
    return sum(map(packed_bytes, shape.tensors))


def needed_experts(experts, used, rows):
    """Of so many, which each row chooses some of."""
    return experts * (1 - (1 - used / experts) ** rows)


def read_bytes(tensor, shape, step):
    if tensor.copies == 1:
        return packed_bytes(tensor)
    needed = needed_experts(tensor.copies, shape.used_experts, rows_of(tensor, shape, step))
    return packed_bytes(tensor) * needed / tensor.copies


def kind_of(tensor, fast, rates):
    """The numbers that its products are of. bf16 matrices take whatever the machine multiplies faster."""
    if not fast or tensor.form in ("f32", "f16"):
        return "float32"
    if tensor.form == "bf16":
        return max(("float32", "bf16"), key=rates.get)
    return "int8"


def rows_of(tensor, shape, step):
    last_feed = tensor.name.startswith(f"blk.{shape.layers - 1}.ffn_")
    return step.outputs if last_feed or tensor.name == "output.weight" else step.rows


def products_of(tensor, shape, step):
    used = 1 if tensor.copies == 1 else shape.used_experts
    return tensor.inputs * tensor.outputs * used * rows_of(tensor, shape, step)


def matrices(name, tensors, shape, step, kind):
    products = {}
    for tensor in tensors:
        if tensor.outputs > 1:
            products[kind(tensor)] = products.get(kind(tensor), 0) + products_of(tensor, shape, step)
    return Part(name, sum(read_bytes(tensor, shape, step) for tensor in tensors), products)


def attention(shape, step):
    numbers = sum(2 * layer.kv_heads * layer.head_dim * step.cached(layer.window) for layer in shape.attention)
    products = sum(2 * layer.heads * layer.head_dim * step.pairs(layer.window) for layer in shape.attention)
    return Part("attention", numbers * KV_BYTES, {"float32": products})


def states(shape, step):
    numbers = 2 * step.requests * sum(layer.numbers for layer in shape.states)
    return Part("states", numbers * STATE_BYTES, {"float32": step.rows * sum(layer.products for layer in shape.states)})


def parts(shape, step, kind):
    head = [tensor for tensor in shape.tensors if tensor.name == "output.weight"]
    others = [tensor for tensor in shape.tensors if tensor.name != "output.weight"]
    return [matrices("layers", others, shape, step, kind), attention(shape, step),
            *([states(shape, step)] if shape.states else []), matrices("head", head, shape, step, kind)]


def parts_of(shape, step, fast, rates):
    return parts(shape, step, lambda tensor: kind_of(tensor, fast, rates))


def step_bytes(shape, step):
    return sum(part.bytes for part in parts(shape, step, lambda tensor: ""))


def step_products(shape, step):
    return sum(sum(part.products.values()) for part in parts(shape, step, lambda tensor: ""))


def tokens_per_second(shape, step, fast, rates):
    return step.rows / sum(part.seconds(rates) for part in parts_of(shape, step, fast, rates))
