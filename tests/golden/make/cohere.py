"""Command R and R7B: attention and MLP beside each other behind one LayerNorm without bias, rotated neighbours, scaled
logits. Command R has norms for each query and key head, if any; R7B has windows, and positions only in these layers."""
from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from transformers import Cohere2ForCausalLM, CohereForCausalLM


def draw(model, normal):
    draw_decoder(model, normal, logit_scale=model.config.logit_scale)


def publish(config, settings):
    """Command R7B's files say by sliding_window_pattern which layers are full."""
    publish_rope(config)
    keep_only(config, "attention_bias attention_dropout hidden_act intermediate_size layer_norm_eps logit_scale "
              "num_key_value_heads pad_token_id use_qk_norm")
    del config["tie_word_embeddings"]
    if config["model_type"] == "cohere2":
        config.update(head_dim=settings["hidden_size"] // settings["num_attention_heads"], sliding_window=7,
                      sliding_window_pattern=3, layer_switch=3, order_of_interleaved_layers="local_attn_first",
                      position_embedding_type="rope_gptj", rope_scaling=None, rotary_pct=1.0,
                      use_embedding_sharing=True, use_gated_activation=True, use_parallel_block=True)


FAMILIES = [
    decoder(CohereForCausalLM, {
        "cohere_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=3, layer_norm_eps=0.02, tie_word_embeddings=True,
            logit_scale=0.25, **rope(100.0)),
        "cohere_qk_norm": dict(
            dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=22, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, layer_norm_eps=0.02, tie_word_embeddings=True,
            logit_scale=1.5, use_qk_norm=True, attention_bias=True, **rope(60.0)),
    }, draw=draw, publish=publish),
    decoder(Cohere2ForCausalLM, {
        "cohere2_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, layer_norm_eps=0.02, tie_word_embeddings=True,
            logit_scale=0.3, sliding_window=7,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"], **rope(80.0)),
    }, draw=draw, publish=publish),
]
