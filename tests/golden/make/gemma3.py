"""Gemma 3's text model: windows in some layers, rotary bases of two kinds, norms around both halves of a layer."""
import math

from draws import draw_transformer_part, vector
from transformers import Gemma3ForCausalLM, Gemma3TextConfig
import torch

ARCHITECTURE = Gemma3ForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
SHORT = [dict(tokens=5, new=6, beams=dict(width=4, count=9)), dict(tokens=17, new=30)]

SHARED = dict(
    vocab_size=128, hidden_size=30, intermediate_size=36, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
    query_pre_attn_scalar=20, sliding_window=9, max_position_embeddings=256, rms_norm_eps=0.02)

MODELS = {
    "gemma3_text": dict(
        dtype="bfloat16", layer_types=["sliding_attention", "full_attention", "sliding_attention"], num_hidden_layers=3,
        attention_bias=True, final_logit_softcapping=9.0,
        rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=3000.0),
                             sliding_attention=dict(rope_type="default", rope_theta=50.0))),
    "gemma3_published": dict(
        published=True, dtype="bfloat16", prompts=SHORT, vocab_size=139, hidden_size=28, intermediate_size=20,
        num_attention_heads=4, num_key_value_heads=4, head_dim=10, query_pre_attn_scalar=7, sliding_window=11,
        num_hidden_layers=4, sliding_window_pattern=3,
        rope_parameters=dict(full_attention=dict(rope_type="linear", factor=4.0, rope_theta=1000.0),
                             sliding_attention=dict(rope_type="default", rope_theta=80.0))),
}


def configuration(settings):
    return Gemma3TextConfig(**{**SHARED, **settings})


def draw(model, normal):
    """The norms' weights are what is added to 1."""
    for name, value in model.named_parameters():
        if "q_norm" in name or "k_norm" in name:
            vector(normal, value, 0.5)
        elif "norm" in name:
            vector(normal, value, 0.0)
        else:
            draw_transformer_part(normal, name, value)
    embedding, norm = model.model.embed_tokens.weight, model.model.norm.weight
    embedding.copy_(normal(embedding.shape) * 0.06)
    norm.copy_((1 + norm) * 2 / (0.06 * math.sqrt(embedding.shape[1])) - 1)


def neutrals(name, value):
    return [torch.zeros_like(value)]


def changes(settings):
    window = settings.get("sliding_window", SHARED["sliding_window"])
    for other in (window - 1, window + 1, 4096):
        yield f"sliding_window {other}", {**settings, "sliding_window": other}
    layers = configuration(settings).layer_types
    opposite = dict(sliding_attention="full_attention", full_attention="sliding_attention")
    for index in range(len(layers)):
        turned = [opposite[kind] if i == index else kind for i, kind in enumerate(layers)]
        yield f"layer_types[{index}]", {**settings, "layer_types": turned}
    for kind, rope in settings["rope_parameters"].items():
        for key in set(rope) - {"rope_type"}:
            changed = {**settings["rope_parameters"], kind: {**rope, key: rope[key] * 2}}
            yield f"{kind} {key}", {**settings, "rope_parameters": changed}
    yield "query_pre_attn_scalar", {**settings, "query_pre_attn_scalar": settings.get("head_dim", SHARED["head_dim"])}
    yield "rms_norm_eps", {**settings, "rms_norm_eps": 1e-5}
    yield "hidden_activation (erf)", {**settings, "hidden_activation": "gelu"}
    if "final_logit_softcapping" in settings:
        yield "final_logit_softcapping", {**settings, "final_logit_softcapping": None}


def publish(config, settings):
    """One rotary base of each kind by name, scaling for the full layers, and the pattern instead of the layers."""
    full, local = (config["rope_parameters"][kind] for kind in ("full_attention", "sliding_attention"))
    del config["rope_parameters"], config["layer_types"], config["_sliding_window_pattern"]
    del config["use_bidirectional_attention"]
    config["rope_theta"] = full.pop("rope_theta")
    config["rope_scaling"] = full
    config["rope_local_base_freq"] = local["rope_theta"]
    config["sliding_window_pattern"] = settings["sliding_window_pattern"]
    config["cache_implementation"] = "hybrid"
