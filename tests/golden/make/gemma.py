"""Gemma 1 and 2: norms that add 1 to their weights, and embeddings scaled by the root of their width. Gemma 2 has
norms around both halves of a layer, windows in every other layer, and bends scores and logits."""
import math

from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from transformers import Gemma2ForCausalLM, GemmaForCausalLM
import torch


def draw(model, normal):
    scale = math.sqrt(model.config.hidden_size)
    draw_decoder(model, normal, norm=0.0, embedding_scale=scale, norm_offset=1.0)


def neutrals(name, value):
    return [torch.zeros_like(value)]


def publish(config, settings):
    """Gemma 1's files say gelu and mean its approximation by tanh; Gemma 2's do not list which layers have windows.
    Neither says that embeddings are tied."""
    publish_rope(config)
    gemma2 = config["model_type"] == "gemma2"
    keep_only(config, "attention_bias attention_dropout head_dim hidden_act intermediate_size num_key_value_heads "
              "pad_token_id rms_norm_eps" + (" final_logit_softcapping attn_logit_softcapping hidden_activation "
                                             "query_pre_attn_scalar sliding_window" if gemma2 else ""))
    del config["tie_word_embeddings"]
    if gemma2:
        config.update(cache_implementation="hybrid", hidden_act="gelu_pytorch_tanh")
    else:
        config["hidden_act"] = "gelu"
        config["rope_scaling"] = None


SCORES = dict(attn_implementation="eager")  # the others do not cap them
FAMILIES = [
    decoder(GemmaForCausalLM, {
        "gemma_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=10, rms_norm_eps=0.02,
            hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True, **rope(300.0)),
    }, draw=draw, publish=publish, neutrals=neutrals),
    decoder(Gemma2ForCausalLM, {
        "gemma2_published": dict(
            published=True, dtype="bfloat16", vocab_size=99, hidden_size=24, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=10, rms_norm_eps=0.02, sliding_window=7,
            query_pre_attn_scalar=5, attn_logit_softcapping=4.0, final_logit_softcapping=8.0,
            hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True, **rope(200.0)),
        "gemma2_turned": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=28, intermediate_size=14, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=0.02, sliding_window=9,
            layer_types=["full_attention", "sliding_attention", "full_attention"], attention_bias=True,
            query_pre_attn_scalar=11, attn_logit_softcapping=3.0, final_logit_softcapping=None,
            hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True, **rope(500.0)),
    }, draw=draw, publish=publish, neutrals=neutrals, LOADING=SCORES,
       further_changes=lambda settings: scores_changes(settings)),
]


def scores_changes(settings):
    yield "query_pre_attn_scalar", {**settings, "query_pre_attn_scalar": settings["head_dim"]}
    yield "attn_logit_softcapping", {**settings, "attn_logit_softcapping": None}
    if settings["final_logit_softcapping"]:
        yield "final_logit_softcapping", {**settings, "final_logit_softcapping": None}
