"""SmolLM 3: Llama with layers that have no rotary positions."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import SmolLM3ForCausalLM


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "attention_bias attention_dropout hidden_act intermediate_size layer_types "
              "max_window_layers mlp_bias no_rope_layer_interval no_rope_layers num_key_value_heads pad_token_id "
              "pretraining_tp rms_norm_eps rope_scaling sliding_window use_sliding_window")
    del config["tie_word_embeddings"]


FAMILIES = [decoder(SmolLM3ForCausalLM, {
    "smollm3_published": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, no_rope_layers=[1, 0, 1],
        tie_word_embeddings=True, **rope(200.0)),
    # Every fourth layer without rotary positions is all that GGUF files express.
    "smollm3_fourth": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=5,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, no_rope_layers=[1, 1, 1, 0, 1],
        tie_word_embeddings=True, **rope(200.0)),
}, publish=publish)]
