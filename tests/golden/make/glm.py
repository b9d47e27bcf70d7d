"""GLM 4: one matrix for gate and up, neighbours rotated in a part of each head. Its later files (glm4) have norms
around both halves of a layer."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import Glm4ForCausalLM, GlmForCausalLM


def publish(config, settings):
    publish_rope(config)
    del config["rope_scaling"]
    keep_only(config, "attention_bias attention_dropout head_dim hidden_act intermediate_size num_key_value_heads "
              "pad_token_id partial_rotary_factor rms_norm_eps")


FAMILIES = [
    decoder(GlmForCausalLM, {
        "glm_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, attention_bias=True,
            tie_word_embeddings=False, **rope(100.0, partial_rotary_factor=0.5)),
    }, publish=publish),
    decoder(Glm4ForCausalLM, {
        "glm4_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=22, intermediate_size=14, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=16, rms_norm_eps=0.02, attention_bias=False,
            tie_word_embeddings=False, **rope(30.0, partial_rotary_factor=0.25)),
    }, publish=publish),
]
