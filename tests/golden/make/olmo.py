"""OLMo 2 and 3: norms after attention and after the MLP only, and norms of queries and keys over all heads together.
OLMo 3 has windows in most layers, and scales the rotary positions of the others."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import Olmo2ForCausalLM, Olmo3ForCausalLM


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "attention_bias attention_dropout hidden_act intermediate_size num_key_value_heads pad_token_id "
              "rms_norm_eps rope_scaling")


def publish_without_settings(config, settings):
    """What a file leaves out is Transformers' default."""
    del config["rope_parameters"], config["layer_types"]


FAMILIES = [
    decoder(Olmo2ForCausalLM, {
        "olmo2_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=20, intermediate_size=16, num_hidden_layers=3,
            num_attention_heads=5, num_key_value_heads=5, rms_norm_eps=0.02, tie_word_embeddings=False, **rope(300.0)),
    }, publish=publish),
    decoder(Olmo3ForCausalLM, {
        "olmo3_window": dict(
            dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=14, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, sliding_window=7, tie_word_embeddings=True,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters=dict(
                sliding_attention=dict(rope_type="default", rope_theta=60.0),
                full_attention=dict(rope_type="yarn", rope_theta=200.0, factor=4.0, beta_fast=1.4, beta_slow=0.147,
                                    attention_factor=1.25, original_max_position_embeddings=64))),
    }),
    decoder(Olmo3ForCausalLM, {
        "olmo3_default": dict(
            published=True, dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=12, num_hidden_layers=4,
            num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=False,
            sliding_window=7),
    }, publish=publish_without_settings),
]
