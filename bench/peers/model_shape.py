"""The shape of a model, from the head of its GGUF file (https://github.com/ggml-org/ggml, docs/gguf.md)."""

import dataclasses
import math
import struct

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
TYPES = {0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 12: "q4_k", 13: "q5_k", 14: "q6_k",
         30: "bf16"}


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    inputs: int
    outputs: int  # 1: a vector
    form: str     # as TYPES names it


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    tensors: tuple  # without embeddings, but with the matrix of the head, which may be the same
    window: float   # tokens that every layer sees; infinite where all see everything


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
            raise ValueError(f"{path} is no GGUF file of version 2 or later")
        tensors, fields = head.number("Q"), head.number("Q")
        read = {head.text(): head.value(head.number("I")) for _ in range(fields)}
        return read, [head.tensor() for _ in range(tensors)]


def plain(dimensions, form):
    return len(dimensions) <= 2 and form is not None


def read(path):
    """None where the model is not a Llama or Gemma 3 whose layers all have the same heads and one feed-forward."""
    fields, found = fields_and_tensors(path)
    family = fields["general.architecture"]
    if family not in ("llama", "gemma3") or not all(plain(dimensions, form) for _, dimensions, form in found):
        return None
    tensors = {name: Tensor(name, dimensions[0], dimensions[1] if len(dimensions) == 2 else 1, form)
               for name, dimensions, form in found if not name.startswith("rope")}
    embeddings = tensors.pop("token_embd.weight")
    tensors.setdefault("output.weight", dataclasses.replace(embeddings, name="output.weight"))
    heads = fields[f"{family}.attention.head_count"]
    return Shape(fields[f"{family}.block_count"], heads, fields.get(f"{family}.attention.head_count_kv", heads),
                 tensors["blk.0.attn_q.weight"].outputs // heads, tuple(tensors.values()),
                 fields.get(f"{family}.attention.sliding_window", math.inf))
