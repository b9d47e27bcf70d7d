#!/usr/bin/env python3
"""Writes the reference files in data/ and the first seeds of corpus/, with the packages that define the formats.

Development only: needs numpy, torch, gguf, safetensors and transformers. Run it as
  python make.py [MODEL.gguf]
where MODEL is the default model; with it, checksums of its tensors are written too.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import dequantize
from safetensors.numpy import save_file
from transformers import LlamaConfig

HERE = pathlib.Path(__file__).parent
DATA = HERE / "data"
CORPUS = HERE / "corpus"
BLOCKS = {"q4_0": (18, 1), "q4_1": (20, 2), "q5_0": (22, 1), "q5_1": (24, 2), "q8_0": (34, 1)}  # bytes, f16 fields
K_BLOCKS = {"q4_k": (144, 2, 0), "q5_k": (176, 2, 0), "q6_k": (210, 1, 208)}  # bytes, f16 fields, where those are
LOW_BIT_BLOCKS = {"q2_k": (84, 2, 80), "q3_k": (110, 1, 108), "iq4_nl": (18, 1, 0), "iq4_xs": (136, 1, 0)}

# Bytes, where the f16 scale is, and how many points the code book has.
FEW_BIT_BLOCKS = {"iq1_s": (50, 0, 2048), "iq1_m": (56, None, 2048), "iq2_xxs": (66, 0, 256), "iq2_xs": (74, 0, 512),
                  "iq2_s": (82, 0, 1024), "iq3_xxs": (98, 0, 256), "iq3_s": (110, 0, 512), "tq1_0": (54, 52, 0),
                  "tq2_0": (66, 64, 0), "nvfp4": (36, None, 0)}

Q2_0 = 42  # which gguf 0.19 does not know


def random_blocks(rng, size, halves, count, at=0):
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    scales = rng.normal(0, 1, (count, halves)).astype(np.float16)
    scales[0], scales[1], scales[2], scales[3] = 6e-8, -6e-5, 65504, 0  # a subnormal, near one, the largest, zero
    blocks[:, at : at + 2 * halves] = scales.view(np.uint8)
    return blocks


def dequantized(rng):
    tensors = {}
    for name, (size, halves) in BLOCKS.items():
        blocks = random_blocks(rng, size, halves, 24)
        tensors[name + ".blocks"] = blocks
        tensors[name + ".values"] = dequantize(blocks, GGMLQuantizationType[name.upper()]).astype(np.float32)
    return tensors


def k_dequantized(rng, kinds=K_BLOCKS):
    tensors = {}
    for name, (size, halves, at) in kinds.items():
        blocks = random_blocks(rng, size, halves, 12, at)
        tensors[name + ".blocks"] = blocks
        tensors[name + ".values"] = dequantize(blocks, GGMLQuantizationType[name.upper()]).astype(np.float32)
    return tensors


def mxfp4_dequantized(rng):
    blocks = rng.integers(0, 256, (12, 17), dtype=np.uint8)
    blocks[:, 0] = [0, 1, 2, 3, 100, 118, 126, 127, 128, 139, 140, 254]
    return {"mxfp4.blocks": blocks, "mxfp4.values": dequantize(blocks, GGMLQuantizationType.MXFP4).astype(np.float32)}


def set_points(name, blocks, points):
    """Sets which points of the code book the elements are, in order."""
    low, high = (points & 255).astype(np.uint8), (points >> 8).astype(np.uint16)
    if name == "iq1_s":
        blocks[:, 2:34] = low
        bits = blocks[:, 34:50].copy().view(np.uint16) & 0xF000
        blocks[:, 34:50] = (bits | (high.reshape(-1, 8, 4) << [0, 3, 6, 9]).sum(2)).astype(np.uint16).view(np.uint8)
    elif name == "iq1_m":
        blocks[:, :32] = low
        blocks[:, 32:48] = blocks[:, 32:48] & 0x88 | (high.reshape(-1, 16, 2) << [0, 4]).sum(2).astype(np.uint8)
    elif name == "iq2_xxs":
        blocks[:, 2:].reshape(-1, 8, 8)[:, :, :4] = low.reshape(-1, 8, 4)
    elif name == "iq2_xs":
        words = blocks[:, 2:66].copy().view(np.uint16) & 0xFE00 | points.astype(np.uint16)
        blocks[:, 2:66] = words.view(np.uint8)
    elif name == "iq2_s":
        blocks[:, 2:34] = low
        blocks[:, 66:74] = (high.reshape(-1, 8, 4) << [0, 2, 4, 6]).sum(2)
    elif name == "iq3_xxs":
        blocks[:, 2:66] = low
    elif name == "iq3_s":
        blocks[:, 2:66] = low
        blocks[:, 66:74] = (high.reshape(-1, 8, 8) << np.arange(8)).sum(2)


def set_scales(name, at, blocks, scales):
    bits = scales.astype(np.float16).view(np.uint16)
    if name == "iq1_m":
        words = blocks[:, 48:].copy().view(np.uint16) & 0x0FFF
        words |= (bits[:, None] >> np.array([0, 4, 8, 12], np.uint16) & 15) << np.uint16(12)
        blocks[:, 48:] = words.view(np.uint8)
    elif at is not None:
        blocks[:, at : at + 2] = bits[:, None].view(np.uint8)


def few_bit_blocks(rng, name, count=12):
    """Every point of a code book, each at least once; of nvfp4, every scale."""
    size, at, book = FEW_BIT_BLOCKS[name]
    in_block = 64 if name.startswith("iq3") else 32
    count = max(count, book // in_block, 64 if name == "nvfp4" else 0)
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if book:
        points = np.concatenate([rng.permutation(book) for _ in range(-(-count * in_block // book))])
        set_points(name, blocks, points[: count * in_block].reshape(count, in_block))
    if name == "nvfp4":
        blocks[:, :4] = rng.permutation(256).reshape(64, 4)
    scales = rng.normal(0, 1, count).astype(np.float16)
    scales[:4] = 6e-8, -6e-5, 65504, 0
    set_scales(name, at, blocks, scales)
    return blocks


def few_bit_dequantized(rng):
    tensors = {}
    for name in FEW_BIT_BLOCKS:
        blocks = few_bit_blocks(rng, name)
        tensors[name + ".blocks"] = blocks
        tensors[name + ".values"] = dequantize(blocks, GGMLQuantizationType[name.upper()]).astype(np.float32)
    return tensors | one_and_two_bits(rng)


def one_and_two_bits(rng):
    """Q1_0 and Q2_0, which the package gguf does not dequantize: bits from the low one of a byte on."""
    tensors = {}
    for name, bits in (("q1_0", 1), ("q2_0", 2)):
        blocks = random_blocks(rng, 18, 1, 12)
        codes = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").reshape(12, -1, bits) @ (1 << np.arange(bits))
        values = (2 * codes - 1 if bits == 1 else codes - 1).astype(np.float32)
        tensors[name + ".blocks"] = blocks
        tensors[name + ".values"] = blocks[:, :2].copy().view(np.float16).astype(np.float32) * values
    return tensors


def halves(rng):
    bits = rng.integers(0, 2**32, 3000, dtype=np.uint32)
    near = np.concatenate([np.arange(-3, 4) + x for x in (
        0x38800000, 0x33000000, 0x33800000, 0x477FF000, 0x477FE000, 0x7F800000, 0x7F7FFFFF, 0x3F801000, 0x3F803000,
        0x3F808000, 0x3F818000, 0x00800000, 0x7FFF8000)]).astype(np.int64).astype(np.uint32)
    bits = np.concatenate([bits, near, near | 0x80000000, [0, 0x80000000]]).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        f16 = values.astype(np.float16).view(np.uint16)
    bf16 = torch.from_numpy(values.copy()).to(torch.bfloat16).view(torch.uint16).numpy()
    return {"half.f32": values, "half.f16": f16, "half.bf16": bf16}


def write_gguf(path):
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5000.0)
    writer.add_vocab_size(3)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["a", "b", "\u0120c"])
    writer.add_token_types([1, 1, 3])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{{ messages[0].content }}")
    writer.add_array("test.reals", [0.5, -1.25])
    writer.add_array("test.flags", [True, False, True])
    writer.add_int64("test.large", -(2**40))
    rng = np.random.default_rng(5)
    writer.add_tensor("token_embd.weight", rng.normal(0, 1, (3, 32)).astype(np.float16))
    writer.add_tensor("output_norm.weight", np.arange(32, dtype=np.float32))
    blocks = random_blocks(rng, 34, 1, 32)
    writer.add_tensor("blk.0.attn_q.weight", blocks.reshape(32, 34), raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_configs():
    shape = dict(vocab_size=128, hidden_size=48, intermediate_size=96, num_hidden_layers=3, num_attention_heads=6,
                 num_key_value_heads=2, head_dim=10, max_position_embeddings=256, rms_norm_eps=1e-5)
    ropes = {
        "default": {"rope_type": "default", "rope_theta": 5000.0},
        "linear": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0},
        "llama3": {"rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
        "yarn": {"rope_type": "yarn", "rope_theta": 5000.0, "factor": 4.0, "original_max_position_embeddings": 64,
                 "beta_fast": 24.0, "beta_slow": 2.0},
    }
    for name, rope in ropes.items():
        config = LlamaConfig(rope_parameters=rope, attention_bias=name == "linear", tie_word_embeddings=name == "yarn",
                             bos_token_id=1, eos_token_id=[2, 5], pad_token_id=None, **shape)
        text = json.loads(config.to_json_string(use_diff=True))
        text.pop("transformers_version", None)
        (DATA / f"config_{name}.json").write_text(json.dumps(text, indent=1, sort_keys=True) + "\n")


def unpermuted(weights, heads):
    half = weights.shape[0] // heads // 2
    return weights.reshape(heads, half, 2, *weights.shape[1:]).swapaxes(2, 1).reshape(weights.shape)


def checksums(path):
    """Of each tensor, as Transformers would have it: the sum of w[r, c] * ((7 r + 3 c) % 11 - 5)."""
    sums = {}
    for tensor in GGUFReader(path).tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
        if ".attn_q." in tensor.name or ".attn_k." in tensor.name:
            values = unpermuted(values, 9 if ".attn_q." in tensor.name else 3)
        rows = np.arange(values.shape[0])
        columns = np.arange(values.shape[1]) if values.ndim == 2 else np.zeros(1, dtype=np.int64)
        values = values.reshape(len(rows), len(columns))
        sums[tensor.name] = np.array((values * ((7 * rows[:, None] + 3 * columns[None, :]) % 11 - 5)).sum())
    return sums


def write_low_bit_gguf(path):
    """Tensors of the types with the fewest bits, two rows of 256 columns each."""
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    rng = np.random.default_rng(17)
    for name, (size, halves, at) in LOW_BIT_BLOCKS.items():
        blocks = rng.integers(0, 256, (2 * (256 // GGML_QUANT_SIZES[GGMLQuantizationType[name.upper()]][0]), size), np.uint8)
        scales = rng.normal(0, 0.01, (len(blocks), halves)).astype(np.float16)
        blocks[:, at : at + 2 * halves] = scales.view(np.uint8)
        writer.add_tensor(name + ".weight", blocks.reshape(2, -1), raw_dtype=GGMLQuantizationType[name.upper()])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_few_bit_gguf(path):
    """The same of those with code books or three values, and of NVFP4; one row each."""
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    rng = np.random.default_rng(18)
    for name, (size, at, _) in FEW_BIT_BLOCKS.items():
        blocks = rng.integers(0, 256, (4 if name == "nvfp4" else 1, size), np.uint8)
        set_scales(name, at, blocks, rng.normal(0, 0.01, len(blocks)))
        writer.add_tensor(name + ".weight", blocks.reshape(1, -1), raw_dtype=GGMLQuantizationType[name.upper()])
    bits = rng.integers(0, 256, (1, 36), np.uint8)
    bits[:, [1, 19]] = 0x20  # of the scales
    writer.add_tensor("q1_0.weight", bits, raw_dtype=GGMLQuantizationType.Q1_0)
    GGML_QUANT_SIZES.setdefault(Q2_0, (64, 18))
    writer.add_tensor("q2_0.weight", bits, raw_dtype=Q2_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def split_seeds(folder):
    """The parts of package.gguf, as gguf writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = GGUFReader(DATA / "package.gguf")
    writer = GGUFWriter(folder / "model.gguf", "llama", split_max_tensors=2)
    writer.add_block_count(1)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_seeds():
    write_low_bit_gguf(CORPUS / "gguf" / "low_bits.gguf")
    write_few_bit_gguf(CORPUS / "gguf" / "few_bits.gguf")
    split_seeds(CORPUS / "gguf_parts")
    index = {"metadata": {"total_size": 12},
             "weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}}
    (CORPUS / "shard_index").mkdir(parents=True, exist_ok=True)
    (CORPUS / "shard_index" / "two_shards.json").write_text(json.dumps(index))
    for reader, file in (("gguf", "package.gguf"), ("safetensors", "package.safetensors"),
                         ("config", "config_llama3.json"), ("config", "config_yarn.json")):
        folder = CORPUS / reader
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes((DATA / file).read_bytes())


def main():
    DATA.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    save_file({**dequantized(rng), **halves(rng)}, DATA / "numbers.safetensors")
    save_file(k_dequantized(np.random.default_rng(11)), DATA / "k_quants.safetensors")
    low_bits = k_dequantized(np.random.default_rng(13), LOW_BIT_BLOCKS) | mxfp4_dequantized(np.random.default_rng(14))
    save_file(low_bits, DATA / "low_bit_quants.safetensors")
    save_file(few_bit_dequantized(np.random.default_rng(19)), DATA / "few_bit_quants.safetensors")
    save_file({"b": np.arange(6, dtype=np.int32).reshape(2, 3), "a": np.array(1.5), "flags": np.array([True, False]),
               "empty": np.zeros((0, 4), dtype=np.float16)}, DATA / "package.safetensors", metadata={"format": "pt"})
    write_gguf(DATA / "package.gguf")
    write_configs()
    write_seeds()
    if len(sys.argv) > 1:
        save_file(checksums(sys.argv[1]), DATA / "default_model.safetensors")


if __name__ == "__main__":
    main()
