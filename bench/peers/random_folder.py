"""A model of one of random_shapes.py with random weights as a Hugging Face folder in bfloat16, for Transformers and for what
exports from it, with the tokenizer of the model that is there."""

import argparse
import dataclasses
import json
import pathlib

import torch
import transformers

import random_shapes
from random_model import DEPS


def config_of(shape, vocabulary):
    fields = dict(shape.fields)
    described = {"qwen3moe": experts, "gpt-oss": windowed_experts, "qwen35": hybrid}[shape.family](shape, fields)
    kind = transformers.CONFIG_MAPPING[described.pop("model_type")]
    return kind(vocab_size=vocabulary, hidden_size=shape.hidden, num_hidden_layers=shape.layers, head_dim=shape.head_dim,
                num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads, max_position_embeddings=shape.length,
                rms_norm_eps=fields["attention.layer_norm_rms_epsilon"], tie_word_embeddings=False, **described)


def experts(shape, fields):
    return {"model_type": "qwen3_moe", "intermediate_size": shape.feed_forward, "moe_intermediate_size": shape.expert_width,
            "num_experts": shape.experts, "num_experts_per_tok": fields["expert_used_count"], "norm_topk_prob": True}


def windowed_experts(shape, fields):
    return {"model_type": "gpt_oss", "intermediate_size": shape.expert_width, "num_local_experts": shape.experts,
            "num_experts_per_tok": fields["expert_used_count"], "sliding_window": fields["attention.sliding_window"]}


def hybrid(shape, fields):
    return {"model_type": "qwen3_5_text", "intermediate_size": shape.feed_forward,
            "linear_conv_kernel_dim": fields["ssm.conv_kernel"], "linear_num_key_heads": shape.key_heads,
            "linear_num_value_heads": shape.value_heads, "linear_key_head_dim": shape.state,
            "linear_value_head_dim": shape.state}


def fill(parameters):
    """Matrices with the same numbers over and over, of a standard deviation of 0.02, vectors with ones."""
    drawn = (0.02 * torch.randn(1 << 20, generator=torch.Generator().manual_seed(1))).to(torch.bfloat16)
    for parameter in parameters:
        if parameter.dim() == 1:
            parameter.data.fill_(1)
            continue
        for part in parameter.data.view(-1).split(len(drawn)):
            part.copy_(drawn[:len(part)])


def save_tokenizer(tokenizer, folder):
    """Under the name of its kind that older versions know, too."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": "PreTrainedTokenizerFast"}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--shape", choices=random_shapes.SHAPES, required=True)
    parser.add_argument("--layers", type=int, help="as many as fit 3 GB of GGUF, if not given")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=DEPS / "model/SmolLM2-135M-Instruct.Q4_1.gguf")
    given = parser.parse_args()
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.tokenizer.parent, gguf_file=given.tokenizer.name)
    shape = random_shapes.SHAPES[given.shape]
    config = config_of(dataclasses.replace(shape, layers=given.layers or shape.layers), len(tokenizer))
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.to_empty(device="cpu")
    fill(model.parameters())
    model.save_pretrained(given.out)
    save_tokenizer(tokenizer, given.out)


if __name__ == "__main__":
    main()
