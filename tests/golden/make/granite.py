"""Granite: Llama with multipliers on embeddings, scores and residuals, and a divisor of logits."""
from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from transformers import GraniteForCausalLM


def draw(model, normal):
    config = model.config
    draw_decoder(model, normal, embedding_scale=config.embedding_multiplier, logit_scale=1 / config.logits_scaling)


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "attention_bias attention_dropout attention_multiplier embedding_multiplier hidden_act "
              "intermediate_size logits_scaling mlp_bias num_key_value_heads pad_token_id residual_multiplier "
              "rms_norm_eps rope_scaling")


FAMILIES = [decoder(GraniteForCausalLM, {
    "granite_published": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=True,
        embedding_multiplier=12.0, attention_multiplier=0.5, residual_multiplier=0.7, logits_scaling=8.0,
        **rope(300.0)),
    "granite_biased": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=False,
        attention_bias=True, mlp_bias=True, embedding_multiplier=0.3, attention_multiplier=0.6,
        residual_multiplier=1.3, logits_scaling=0.7, **rope(200.0)),
}, draw=draw, publish=publish)]
