"""A model of TinyLlama-1.1B's shape, or of one of random_shapes.py, with random weights, and with the tokenizer of the
model that is there.

The numbers are drawn from a normal distribution with a standard deviation of 0.02, from a fixed seed; embeddings and
the last matrix have 8 bits, as those of the default model do. It writes nonsense as fast as a trained one would.
"""

import argparse
import dataclasses
import os
import pathlib

import gguf
import numpy

import gguf_file
import random_shapes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPS = pathlib.Path(os.environ.get("COGEN_DEPS", ROOT / ".deps"))
HIDDEN, LAYERS, HEADS, KV_HEADS, FEED_FORWARD, LENGTH = 2048, 22, 32, 4, 5632, 8192


def drawn(name, shape, form, random):
    return gguf_file.Plan(name, shape, form, lambda begin, end: random.standard_normal(
        (end - begin, *shape[1:]), dtype=numpy.float32) * numpy.float32(0.02))


def ones(name):
    return gguf_file.Plan(name, (HIDDEN,), "F32", lambda begin, end: numpy.ones(end - begin, dtype=numpy.float32))


def plans(vocabulary, layers, form):
    random = numpy.random.default_rng(1)
    kv = HIDDEN // HEADS * KV_HEADS
    yield drawn("token_embd.weight", (vocabulary, HIDDEN), "Q8_0", random)
    for layer in range(layers):
        matrices = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (kv, HIDDEN), "attn_v": (kv, HIDDEN),
                    "attn_output": (HIDDEN, HIDDEN), "ffn_gate": (FEED_FORWARD, HIDDEN),
                    "ffn_up": (FEED_FORWARD, HIDDEN), "ffn_down": (HIDDEN, FEED_FORWARD)}
        yield ones(f"blk.{layer}.attn_norm.weight")
        yield ones(f"blk.{layer}.ffn_norm.weight")
        for name, shape in matrices.items():
            yield drawn(f"blk.{layer}.{name}.weight", shape, form, random)
    yield ones("output_norm.weight")
    yield drawn("output.weight", (vocabulary, HIDDEN), "Q8_0", random)


def describe(writer, vocabulary, layers, form):
    writer.add_name(f"random, of the shape of TinyLlama-1.1B, {form}")
    writer.add_block_count(layers)
    writer.add_context_length(LENGTH)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(gguf_file.FILE_TYPES[form])
    writer.add_quantization_version(2)


def model(given, vocabulary):
    """A writer that knows what the model is, and its tensors."""
    if given.shape == "tinyllama":
        writer, layers = gguf.GGUFWriter(None, "llama"), given.layers or LAYERS
        describe(writer, vocabulary, layers, given.form)
        return writer, list(plans(vocabulary, layers, given.form))
    shape = random_shapes.SHAPES[given.shape]
    shape = dataclasses.replace(shape, layers=given.layers or shape.layers)
    writer = gguf.GGUFWriter(None, shape.family)
    random_shapes.describe(writer, shape, vocabulary)
    return writer, list(random_shapes.plans(shape, vocabulary))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--form", choices=["Q4_0", "Q4_1", "Q8_0"], default="Q4_1")
    parser.add_argument("--layers", type=int, help="all of TinyLlama's; of the others as many as fit 3 GB")
    parser.add_argument("--shape", choices=["tinyllama", *random_shapes.SHAPES], default="tinyllama")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=DEPS / "model/SmolLM2-135M-Instruct.Q4_1.gguf")
    given = parser.parse_args()
    source = gguf.GGUFReader(given.tokenizer)
    vocabulary = len(source.fields["tokenizer.ggml.tokens"].data)
    writer, tensors = model(given, vocabulary)
    gguf_file.copy_fields(source, writer, lambda name: name.startswith("tokenizer."))
    gguf_file.write(given.out, writer, tensors)


if __name__ == "__main__":
    main()
