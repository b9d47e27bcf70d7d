"""EXAONE 4: norms after attention and MLP only, norms of query and key heads; where there are windows, layers without
one have no rotary positions."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import Exaone4ForCausalLM


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "attention_dropout hidden_act head_dim intermediate_size layer_types num_key_value_heads "
              "pad_token_id rms_norm_eps rope_scaling sliding_window")
    config["sliding_window_pattern"] = None


LLAMA3 = rope(200.0, "llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=3.0,
              original_max_position_embeddings=48)
FAMILIES = [decoder(Exaone4ForCausalLM, {
    "exaone4_hybrid": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=22, intermediate_size=14, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, sliding_window=7,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], tie_word_embeddings=False,
        **rope(100.0)),
    "exaone4_published": dict(
        published=True, dtype="bfloat16", vocab_size=98, hidden_size=22, intermediate_size=18, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.02, sliding_window=None,
        layer_types=["full_attention"] * 3, unseen=tuple(f"layer_types[{i}]" for i in range(3)),
        tie_word_embeddings=True, **LLAMA3),
}, publish=publish)]
