"""The shape of a model, from the head of its GGUF file (https://github.com/ggml-org/ggml, docs/gguf.md)."""

import dataclasses
import math
import struct

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
TYPES = {0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k", 11: "q3_k", 12: "q4_k",
         13: "q5_k", 14: "q6_k", 20: "iq4_nl", 23: "iq4_xs", 30: "bf16", 39: "mxfp4"}
FAMILIES = ("llama", "gemma3", "qwen3moe", "gpt-oss", "qwen35")
FULL_LAYERS = {"gemma3": 6, "gpt-oss": 2}  # where layers have a window: every so manieth sees everything


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    inputs: int
    outputs: int  # 1: a vector
    copies: int   # one for each expert
    form: str     # as TYPES names it
    bits: float   # of a weight as it is read


@dataclasses.dataclass(frozen=True)
class Attention:
    heads: int
    kv_heads: int
    head_dim: int
    window: float  # tokens that a query sees; infinite where it sees all


@dataclasses.dataclass(frozen=True)
class States:
    numbers: int   # of a request
    products: int  # of a token


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    attention: tuple   # of the layers that attend
    states: tuple      # of the recurrent ones
    used_experts: int  # by a token; 0: there are none
    tensors: tuple     # without embeddings, but with the matrix of the head, which may be the same


class Head:
    """A file, read from its beginning."""

    def __init__(self, file):
        self.file = file

    def number(self, form):
        return struct.unpack("<" + form, self.file.read(struct.calcsize(form)))[0]

    def text(self):
        return self.file.read(self.number("Q")).decode(errors="replace")

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            return self.number(SCALARS[kind])
        of, count = self.number("I"), self.number("Q")
        return [self.value(of) for _ in range(count)]

    def tensor(self):
        name, dimensions = self.text(), [self.number("Q") for _ in range(self.number("I"))]
        form = self.number("I")
        self.number("Q")  # where it lies
        return name, dimensions, TYPES.get(form)


def fields_and_tensors(path):
    with open(path, "rb") as file:
        head = Head(file)
        if file.read(4) != b"GGUF" or head.number("I") < 2:
            raise ValueError(f"{path} is not a GGUF file of version 2 or later")
        tensors, fields = head.number("Q"), head.number("Q")
        read = {head.text(): head.value(head.number("I")) for _ in range(fields)}
        return read, [head.tensor() for _ in range(tensors)]


def tensor_of(name, dimensions, form, bits):
    """The last dimension of experts' tensors counts them."""
    copies = dimensions[-1] if "_exps." in name else 1
    inputs, outputs = ([*(dimensions[:-1] if copies > 1 else dimensions), 1])[:2]
    return Tensor(name, inputs, outputs, copies, form, bits[form])


def attention_of(family, fields, layer, tensors):
    heads = fields["attention.head_count"]
    head_dim = fields.get("attention.key_length") or tensors[f"blk.{layer}.attn_q.weight"].outputs // heads
    every = FULL_LAYERS.get(family, 1)
    window = math.inf if layer % every == every - 1 else fields["attention.sliding_window"]
    return Attention(heads, fields.get("attention.head_count_kv", heads), head_dim, window)


def delta_net_of(fields):
    """Each state of a head is read with its key, changed, and read with its query; the convolution keeps a few rows."""
    keys, values = fields["ssm.group_count"] * fields["ssm.state_size"], fields["ssm.inner_size"]
    state = values * fields["ssm.state_size"]
    return States(state + (fields["ssm.conv_kernel"] - 1) * (2 * keys + values), 3 * state)


def read(path, bits):
    """None where the family is not known here. `bits` of a weight by its format: see limits.weight_bits."""
    fields, found = fields_and_tensors(path)
    family = fields["general.architecture"]
    if family not in FAMILIES or not all(form in bits for _, _, form in found):
        return None
    fields = {name.removeprefix(f"{family}."): value for name, value in fields.items()}
    tensors = {name: tensor_of(name, dimensions, form, bits) for name, dimensions, form in found
               if not name.startswith("rope")}
    embeddings = tensors.pop("token_embd.weight")
    tensors.setdefault("output.weight", dataclasses.replace(embeddings, name="output.weight"))
    layers = range(fields["block_count"])
    attend = [layer for layer in layers if f"blk.{layer}.attn_q.weight" in tensors]
    recur = [layer for layer in layers if f"blk.{layer}.ssm_out.weight" in tensors]
    return Shape(len(layers), tuple(attention_of(family, fields, layer, tensors) for layer in attend),
                 tuple(delta_net_of(fields) for _ in recur), fields.get("expert_used_count", 0), tuple(tensors.values()))
