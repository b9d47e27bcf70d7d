"""Matrices in GGML's types of few bits: random codes, for which the package gguf has no encoder, with scales such that the
numbers are as large as those that were drawn."""
import zlib

import gguf
import numpy as np
import torch

SCALES = {"IQ1_S": 0, "IQ1_M": None, "IQ2_XXS": 0, "IQ2_XS": 0, "IQ2_S": 0, "IQ3_XXS": 0, "IQ3_S": 0, "TQ1_0": 52,
          "TQ2_0": 64, "NVFP4": None, "Q1_0": 0, "Q2_0": 0}  # where the f16 scale of a block is
Q2_0 = 42  # which gguf 0.19 does not know
gguf.GGML_QUANT_SIZES.setdefault(Q2_0, (64, 18))
BLOCKS = {}  # of the tensors that were rounded last, [rows, bytes]


def type_of(name):
    """Each type is in one place, the first two in two."""
    kinds = gguf.GGMLQuantizationType
    if "norm" in name:
        return kinds.F32
    if not name.startswith("model.layers"):
        return kinds.IQ2_XS if "embed" in name else kinds.NVFP4
    place = [f"{part}_proj" for part in "q k v o gate up down".split()].index(name.split(".")[-2])
    kind = list(SCALES)[(place + 7 * int(name.split(".")[2])) % len(SCALES)]
    return Q2_0 if kind == "Q2_0" else kinds[kind]


def name_of(kind):
    return "Q2_0" if kind == Q2_0 else kind.name


def has_random_codes(kind):
    return name_of(kind) in SCALES


def values_of(blocks, kind):
    """[blocks, elements] float32."""
    if name_of(kind) not in ("Q1_0", "Q2_0"):
        return gguf.quants.dequantize(blocks, kind)
    bits = 1 if name_of(kind) == "Q1_0" else 2
    codes = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").reshape(len(blocks), -1, bits) @ (1 << np.arange(bits))
    numbers = (2 * codes - 1 if bits == 1 else codes - 1).astype(np.float32)
    return blocks[:, :2].copy().view(np.float16).astype(np.float32) * numbers


def set_scales(blocks, kind, scale):
    """One scale for all; of NVFP4, whose blocks have four of 8 bits, some about it."""
    bits = int(np.float16(scale).view(np.uint16))
    at = SCALES[name_of(kind)]
    if name_of(kind) == "NVFP4":
        nearest = int(gguf.quants.NVFP4.fp32_to_ue4m3(np.float32(scale)))
        blocks[:, :4] = nearest + blocks[:, :4] % 9 - 4
    elif name_of(kind) == "IQ1_M":
        words = blocks[:, 48:].copy().view(np.uint16) & 0x0FFF
        words |= np.array([bits >> shift & 15 for shift in (0, 4, 8, 12)], np.uint16) << np.uint16(12)
        blocks[:, 48:] = words.view(np.uint8)
    else:
        blocks[:, at] = bits & 255
        blocks[:, at + 1] = bits >> 8


def factor_of(name, kind):
    """Of all numbers of a layer's NVFP4 matrix, in a tensor of its own."""
    return np.float32(1.7 if name_of(kind) == "NVFP4" and name.startswith("model.layers") else 1)


def rounded(name, value, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    drawn = value.numpy()
    random = np.random.default_rng(zlib.crc32(drawn.tobytes()))
    blocks = random.integers(0, 256, (drawn.size // elements, size), np.uint8)
    set_scales(blocks, kind, 1)
    set_scales(blocks, kind, drawn.std() / values_of(blocks, kind).std() / factor_of(name, kind))
    BLOCKS[name] = blocks.reshape(len(drawn), -1)
    values = values_of(blocks, kind).astype(np.float32) * factor_of(name, kind)
    return torch.from_numpy(values.reshape(drawn.shape).copy())
