#!/usr/bin/env python3
"""Writes a GGUF file of Llama 3.1 8B's shape with llama.cpp's Q4_K_M mix and random weights (4.9 GB), for bench/load.

  ref/bin/pip install gguf numpy
  ref/bin/python bench/large_model.py /tmp/8b.gguf && build/release/bench/load --repeat 1 --model /tmp/8b.gguf
"""
import itertools
import sys

import gguf
import numpy as np

HIDDEN, INNER, KEYS, VOCABULARY, LAYERS = 4096, 14336, 1024, 128256, 32
Q4, Q6 = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K
BLOCK_BYTES = {Q4: 144, Q6: 210}


def matrices():
    """Name, shape and type of each; Q6_K where the mix has more bits."""
    yield "token_embd.weight", (VOCABULARY, HIDDEN), Q4
    yield "output.weight", (VOCABULARY, HIDDEN), Q6
    eighth = LAYERS // 8
    for layer in range(LAYERS):
        better = Q6 if layer < eighth or layer >= 7 * eighth or (layer - eighth) % 3 == 2 else Q4
        for name, shape, kind in (
                ("attn_q", (HIDDEN, HIDDEN), Q4), ("attn_k", (KEYS, HIDDEN), Q4), ("attn_v", (KEYS, HIDDEN), better),
                ("attn_output", (HIDDEN, HIDDEN), Q4), ("ffn_gate", (INNER, HIDDEN), Q4),
                ("ffn_up", (INNER, HIDDEN), Q4), ("ffn_down", (HIDDEN, INNER), better)):
            yield f"blk.{layer}.{name}.weight", shape, kind


def norms():
    return ["output_norm.weight"] + [
        f"blk.{layer}.{name}.weight" for layer in range(LAYERS) for name in ("attn_norm", "ffn_norm")]


def row_bytes(columns, kind):
    return columns // 256 * BLOCK_BYTES[kind]


def random_rows(shape, kind, generator):
    """4096 random blocks with small scales, repeated."""
    blocks = generator.integers(0, 256, (4096, BLOCK_BYTES[kind]), dtype=np.uint8)
    scales = generator.uniform(1e-5, 2e-4, len(blocks)).astype(np.float16).view(np.uint8).reshape(-1, 2)
    for at in (0, 2) if kind == Q4 else (208,):
        blocks[:, at:at + 2] = scales
    return np.resize(blocks, (shape[0], row_bytes(shape[1], kind)))


def add_vocabulary(writer):
    """The bytes, then strings of letters, each made of a shorter one and a letter."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (256 + number for number in range(256 - len(printed)))
    tokens = [chr(byte) for byte in printed] + [chr(code) for code in others]
    letters = [chr(byte) for byte in printed if chr(byte).isalpha()][:40]
    words = ("".join(word) for length in (2, 3, 4) for word in itertools.product(letters, repeat=length))
    words = list(itertools.islice(words, VOCABULARY - len(tokens) - 2))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(tokens + words + ["<|bos|>", "<|eos|>"])
    writer.add_token_types([1] * (VOCABULARY - 2) + [3, 3])
    writer.add_token_merges([f"{word[:-1]} {word[-1]}" for word in words])
    writer.add_bos_token_id(VOCABULARY - 2)
    writer.add_eos_token_id(VOCABULARY - 1)


def add_shape(writer):
    writer.add_block_count(LAYERS)
    writer.add_context_length(8192)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(128)


def main(path):
    writer = gguf.GGUFWriter(path, "llama")
    add_shape(writer)
    add_vocabulary(writer)
    for name in norms():
        writer.add_tensor_info(name, (HIDDEN,), np.dtype(np.float32), 4 * HIDDEN)
    for name, (rows, columns), kind in matrices():
        bytes_of_row = row_bytes(columns, kind)
        writer.add_tensor_info(name, (rows, bytes_of_row), np.dtype(np.uint8), rows * bytes_of_row, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    generator = np.random.default_rng(1)
    for _ in norms():
        writer.write_tensor_data(np.ones(HIDDEN, dtype=np.float32))
    for _, shape, kind in matrices():
        writer.write_tensor_data(random_rows(shape, kind, generator))
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
