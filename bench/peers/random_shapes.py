"""The shapes of published models, for random_model.py: what their GGUF files say and which tensors they have."""

import dataclasses

import gguf
import numpy

import gguf_file

DEVIATION = 0.02


def q8_0(blocks):
    blocks[:, :2] = numpy.array([DEVIATION / 73], numpy.float16).view(numpy.uint8)
    blocks[:, 2:][blocks[:, 2:] == 128] = 129  # -128 is not a number of a file


def q4_k(blocks):
    """Scales and minima of 32 in each group: numbers around zero."""
    scale = DEVIATION / (32 * 4.61)
    blocks[:, :4] = numpy.array([scale, scale * 7.5], numpy.float16).view(numpy.uint8)
    blocks[:, 4:16] = numpy.array([160] * 8 + [0] * 4, numpy.uint8)


def mxfp4(blocks):
    blocks[:, 0] = 120


SCALES = {"Q8_0": q8_0, "Q4_K": q4_k, "MXFP4": mxfp4}
FILE_TYPES = {"Q4_K": gguf.LlamaFileType.MOSTLY_Q4_K_M, "MXFP4": gguf.LlamaFileType.MOSTLY_MXFP4_MOE}


class Draws:
    """Plans of tensors with random numbers. Those of quantized forms are drawn as bytes: the numbers of a block are
    uniform, with a standard deviation of 0.02."""

    def __init__(self):
        self.random = numpy.random.default_rng(1)

    def quantized(self, name, shape, form):
        size, bytes_of = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[form]]

        def rows(begin, end):
            stored = (end - begin, *shape[1:-1], shape[-1] // size * bytes_of)
            drawn = numpy.frombuffer(self.random.bytes(int(numpy.prod(stored))), numpy.uint8).copy()
            SCALES[form](drawn.reshape(-1, bytes_of))
            return drawn.reshape(stored)
        return gguf_file.Plan(name, shape, form, rows)

    def floats(self, name, shape, deviation=DEVIATION, mean=0.0):
        return gguf_file.Plan(name, shape, "F32", lambda begin, end: numpy.float32(mean) + self.random.standard_normal(
            (end - begin, *shape[1:]), dtype=numpy.float32) * numpy.float32(deviation))

    def ones(self, name, width):
        return self.floats(name, (width,), 0, 1)


@dataclasses.dataclass(frozen=True)
class Shape:
    family: str
    about: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    length: int
    fields: tuple    # of the family: (name, number)
    projections: str  # their form
    experts: int = 0
    expert_width: int = 0
    expert_form: str = ""
    feed_forward: int = 0
    key_heads: int = 0    # of gated delta nets
    value_heads: int = 0
    state: int = 0


SHAPES = {
    "qwen3-30b-a3b": Shape(
        "qwen3moe", "Qwen3-30B-A3B", 6, 2048, 32, 4, 128, 40960,
        (("rope.freq_base", 1e6), ("attention.layer_norm_rms_epsilon", 1e-6), ("expert_used_count", 8)), "Q4_K",
        experts=128, expert_width=768, expert_form="Q4_K", feed_forward=6144),
    "qwen3.5": Shape(
        "qwen35", "a Qwen3.5 hybrid", 24, 2048, 8, 2, 256, 262144,
        (("rope.freq_base", 1e7), ("attention.layer_norm_rms_epsilon", 1e-6), ("rope.dimension_count", 64),
         ("rope.dimension_sections", [11, 11, 10, 0]), ("full_attention_interval", 4), ("ssm.conv_kernel", 4),
         ("ssm.state_size", 128), ("ssm.group_count", 16), ("ssm.time_step_rank", 16), ("ssm.inner_size", 2048)), "Q4_K",
        feed_forward=6144, key_heads=16, value_heads=16, state=128),
    "gpt-oss-20b": Shape(
        "gpt-oss", "gpt-oss-20b", 6, 2880, 64, 8, 64, 131072,
        (("rope.freq_base", 150000.0), ("attention.layer_norm_rms_epsilon", 1e-5), ("expert_used_count", 4),
         ("attention.sliding_window", 128), ("rope.scaling.type", "yarn"), ("rope.scaling.factor", 32.0),
         ("rope.scaling.original_context_length", 4096)), "Q8_0",
        experts=32, expert_width=2880, expert_form="MXFP4", feed_forward=2880),
}


def attention(draws, shape, block):
    """Qwen 3.5's queries come with a gate each."""
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    asked = 2 * q if shape.key_heads else q
    for name, out, width in (("attn_q", asked, shape.hidden), ("attn_k", kv, shape.hidden), ("attn_v", kv, shape.hidden),
                             ("attn_output", shape.hidden, q)):
        yield draws.quantized(f"{block}.{name}.weight", (out, width), shape.projections)
        if shape.family == "gpt-oss":
            yield draws.floats(f"{block}.{name}.bias", (out,))
    if shape.family == "gpt-oss":
        yield draws.floats(f"{block}.attn_sinks.weight", (shape.heads,))
    else:
        yield draws.ones(f"{block}.attn_q_norm.weight", shape.head_dim)
        yield draws.ones(f"{block}.attn_k_norm.weight", shape.head_dim)


def delta_net(draws, shape, block):
    keys, values = shape.key_heads * shape.state, shape.value_heads * shape.state
    yield draws.quantized(f"{block}.attn_qkv.weight", (2 * keys + values, shape.hidden), shape.projections)
    yield draws.quantized(f"{block}.attn_gate.weight", (values, shape.hidden), shape.projections)
    yield draws.quantized(f"{block}.ssm_out.weight", (shape.hidden, values), shape.projections)
    yield draws.floats(f"{block}.ssm_alpha.weight", (shape.value_heads, shape.hidden))
    yield draws.floats(f"{block}.ssm_beta.weight", (shape.value_heads, shape.hidden))
    yield draws.floats(f"{block}.ssm_conv1d.weight", (2 * keys + values, 4), 0.3)
    yield draws.floats(f"{block}.ssm_dt.bias", (shape.value_heads,), 0.5, -3)
    yield draws.floats(f"{block}.ssm_a", (shape.value_heads,), 0.5, -4)
    yield draws.ones(f"{block}.ssm_norm.weight", shape.state)


def experts(draws, shape, block):
    wide, narrow = (shape.experts, shape.expert_width, shape.hidden), (shape.experts, shape.hidden, shape.expert_width)
    yield draws.floats(f"{block}.ffn_gate_inp.weight", (shape.experts, shape.hidden))
    for name, form in (("ffn_gate_exps", wide), ("ffn_up_exps", wide), ("ffn_down_exps", narrow)):
        yield draws.quantized(f"{block}.{name}.weight", form, shape.expert_form)
        if shape.family == "gpt-oss":
            yield draws.floats(f"{block}.{name}.bias", form[:2])
    if shape.family == "gpt-oss":
        yield draws.floats(f"{block}.ffn_gate_inp.bias", (shape.experts,))


def feed_forward(draws, shape, block):
    for name, out, width in (("ffn_gate", shape.feed_forward, shape.hidden), ("ffn_up", shape.feed_forward, shape.hidden),
                             ("ffn_down", shape.hidden, shape.feed_forward)):
        yield draws.quantized(f"{block}.{name}.weight", (out, width), shape.projections)


def plans(shape, vocabulary):
    draws = Draws()
    second_norm = "ffn_norm" if shape.family == "qwen3moe" else "post_attention_norm"
    yield draws.quantized("token_embd.weight", (vocabulary, shape.hidden), "Q8_0")
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        yield draws.ones(f"{block}.attn_norm.weight", shape.hidden)
        yield draws.ones(f"{block}.{second_norm}.weight", shape.hidden)
        recurs = shape.key_heads and layer % 4 != 3
        yield from delta_net(draws, shape, block) if recurs else attention(draws, shape, block)
        yield from experts(draws, shape, block) if shape.experts else feed_forward(draws, shape, block)
    yield draws.ones("output_norm.weight", shape.hidden)
    yield draws.quantized("output.weight", (vocabulary, shape.hidden), "Q8_0")


def describe(writer, shape, vocabulary):
    writer.add_name(f"random, of the shape of {shape.about} with {shape.layers} layers")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.length)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(FILE_TYPES[shape.expert_form or shape.projections])
    writer.add_quantization_version(2)
    if shape.experts:
        writer.add_expert_count(shape.experts)
        writer.add_expert_feed_forward_length(shape.expert_width)
    for name, value in shape.fields:
        add(writer, f"{shape.family}.{name}", value)


def add(writer, key, value):
    if isinstance(value, list):
        return writer.add_array(key, value)
    if isinstance(value, str):
        return writer.add_string(key, value)
    return writer.add_float32(key, value) if isinstance(value, float) else writer.add_uint32(key, value)
