"""Qwen 2: biases on queries, keys and values only. Qwen 3: a norm of each query's and key's head instead."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import Qwen2ForCausalLM, Qwen3ForCausalLM


def publish(config, settings):
    """The hub's files name a window although use_sliding_window says that there is none."""
    publish_rope(config)
    keep_only(config, """attention_dropout hidden_act intermediate_size max_window_layers num_key_value_heads
              rms_norm_eps sliding_window use_sliding_window attention_bias rope_scaling""" +
              (" head_dim" if config["model_type"] == "qwen3" else ""))
    if config["model_type"] == "qwen2":
        del config["rope_scaling"]
    config["sliding_window"] = 7


FAMILIES = [
    decoder(Qwen2ForCausalLM, {
        "qwen2_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=True,
            max_window_layers=1, **rope(500.0)),
        "qwen2_window": dict(
            dtype="bfloat16", vocab_size=99, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, use_sliding_window=True, sliding_window=7,
            max_window_layers=1, tie_word_embeddings=False, **rope(100.0)),
    }, publish=publish, further_changes=lambda settings: qwen2_changes(settings)),
    decoder(Qwen3ForCausalLM, {
        "qwen3_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=27, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=True,
            max_window_layers=3, **rope(700.0)),
        "qwen3_yarn": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=21, intermediate_size=16, num_hidden_layers=2,
            num_attention_heads=6, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.02, attention_bias=True,
            tie_word_embeddings=False,
            **rope(100.0, "yarn", factor=4.0, beta_fast=3.0, beta_slow=0.6, original_max_position_embeddings=64)),
    }, publish=publish),
]


def qwen2_changes(settings):
    if settings.get("use_sliding_window"):
        yield "use_sliding_window", {**settings, "use_sliding_window": False}
        for other in (0, 2):
            yield f"max_window_layers {other}", {**settings, "max_window_layers": other}
