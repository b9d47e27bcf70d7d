"""Mistral: Llama without biases, and a window in every layer."""
from draws import draw_transformer, standard_neutrals
from transformers import MistralConfig, MistralForCausalLM

ARCHITECTURE = MistralForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
SHORT = [dict(tokens=5, new=6, beams=dict(width=4, count=9)), dict(tokens=17, new=30)]

SHARED = dict(
    vocab_size=128, hidden_size=30, intermediate_size=44, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=2, head_dim=6, max_position_embeddings=256, rms_norm_eps=0.02, bos_token_id=1, eos_token_id=2)

MODELS = {
    "mistral_window": dict(
        dtype="bfloat16", sliding_window=9, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=500.0)),
    "mistral_published": dict(
        published=True, dtype="bfloat16", prompts=SHORT, sliding_window=None, head_dim=None, vocab_size=149,
        num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=2, intermediate_size=32,
        rope_parameters=dict(rope_type="default", rope_theta=300.0)),
    "mistral_wide": dict(
        published=True, dtype="bfloat16", prompts=SHORT, sliding_window=4096, hidden_size=25, intermediate_size=40,
        num_attention_heads=5, num_key_value_heads=5, head_dim=8, num_hidden_layers=2, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
}


def configuration(settings):
    return MistralConfig(**{"tie_word_embeddings": False, **SHARED, **settings})


draw = draw_transformer
neutrals = standard_neutrals


def changes(settings):
    window = settings["sliding_window"] or 4096
    if window < 42:
        for other in (window - 1, window + 1, None):
            yield f"sliding_window {other}", {**settings, "sliding_window": other}
    yield "rope_theta", {**settings, "rope_parameters": dict(rope_type="default", rope_theta=10000.0)}
    yield "rms_norm_eps", {**settings, "rms_norm_eps": 1e-5}


def publish(config, settings):
    """rope_theta alone; no head_dim where it is the usual one."""
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    del config["pad_token_id"]
    if settings.get("head_dim", SHARED["head_dim"]) is None:
        del config["head_dim"]
