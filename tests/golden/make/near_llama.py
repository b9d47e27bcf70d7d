"""Families that differ from Llama in one or two places."""
from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from draws import standard_neutrals, vector
from transformers import (ApertusForCausalLM, ArceeForCausalLM, Ernie4_5ForCausalLM, HunYuanDenseV1ForCausalLM,
                          SeedOssForCausalLM)
import torch


def draw_apertus(model, normal):
    """Its activation has three numbers a layer; a fourth bounds what it takes the exponential of."""
    draw_decoder(model, normal)
    for name, value in model.named_parameters():
        if "alpha" in name:
            vector(normal, value, 0.0, 1.0)
    for name, value in model.named_buffers():
        if name.endswith("act_fn.beta"):
            value.copy_(normal(()).abs() + 0.3)
        elif name.endswith("act_fn.eps"):
            value.fill_(-0.25)


def apertus_neutrals(name, value):
    """An exponential is bounded where it is nearly 1, if at all."""
    return [torch.full_like(value, -1e-6)] if name.endswith("eps") else standard_neutrals(name, value)


FAMILIES = [
    decoder(SeedOssForCausalLM, {
        "seed_oss_free": dict(  # biases of queries, keys and values; heads wider than hidden / heads
            dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=12, rms_norm_eps=0.02, attention_bias=True,
            attention_out_bias=False, tie_word_embeddings=False, **rope(200.0)),
    }),
    decoder(ArceeForCausalLM, {
        "arcee_yarn": dict(  # squared ReLU without a gate
            dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=26, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, hidden_act="relu2",
            tie_word_embeddings=True, **rope(100.0, "yarn", factor=4.0, beta_fast=3.0, beta_slow=0.6,
                                             original_max_position_embeddings=64)),
    }),
    decoder(Ernie4_5ForCausalLM, {
        "ernie4_5_biased": dict(  # neighbours rotated
            dtype="bfloat16", vocab_size=96, hidden_size=22, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, use_bias=True,
            tie_word_embeddings=True, **rope(150.0)),
    }),
    decoder(HunYuanDenseV1ForCausalLM, {
        "hunyuan_alpha": dict(  # query and key norms after the rotation, and a base that alpha raises
            dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=True,
            unseen=("factor",), **rope(20.0, "dynamic", factor=1.0, alpha=8.0)),
    }),
    decoder(ApertusForCausalLM, {
        "apertus_llama3": dict(
            dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=24, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=True,
            **rope(200.0, "llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=3.0,
                   original_max_position_embeddings=48)),
    }, draw=draw_apertus, neutrals=apertus_neutrals),
]
