"""Granite 4 hybrid: Mamba-2 in most layers, attention in the others, Granite's multipliers."""
from decoder import decoder, draw_ends, draw_part, keep_only, rope
from mamba2 import draw_mamba2_part, neutrals
from transformers import GraniteMoeHybridForCausalLM


def draw(model, normal):
    config = model.config
    for name, value in model.named_parameters():
        if not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal, embedding_scale=config.embedding_multiplier, logit_scale=1 / config.logits_scaling)


def publish(config, settings):
    """The hub's files call layers mamba and attention, and no rotation "nope"."""
    config["layer_types"] = ["mamba" if kind == "linear_attention" else "attention" for kind in config["layer_types"]]
    config["position_embedding_type"] = "nope"
    config["rope_theta"], config["rope_scaling"] = config.pop("rope_parameters")["rope_theta"], None
    keep_only(config, """attention_bias attention_dropout attention_multiplier embedding_multiplier hidden_act
              intermediate_size layer_types logits_scaling mamba_chunk_size mamba_conv_bias mamba_d_conv mamba_d_head
              mamba_d_state mamba_expand mamba_n_groups mamba_n_heads mamba_proj_bias num_experts_per_tok
              num_key_value_heads num_local_experts pad_token_id position_embedding_type residual_multiplier
              rms_norm_eps rope_scaling shared_intermediate_size""")
    config["init_method"], config["normalization_function"] = "mup", "rmsnorm"


FAMILIES = [decoder(GraniteMoeHybridForCausalLM, {
    "granite4_published": dict(
        published=True, dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=True,
        embedding_multiplier=12.0, attention_multiplier=0.5, residual_multiplier=0.7, logits_scaling=8.0,
        num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=22, mamba_n_heads=4, mamba_n_groups=1,
        mamba_d_state=6, unseen=("rope_theta",), layer_types=["linear_attention", "full_attention", "linear_attention"], **rope(300.0)),
    "granite4_rotary": dict(
        dtype="bfloat16", vocab_size=104, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=False,
        embedding_multiplier=0.3, attention_multiplier=0.6, residual_multiplier=1.3, logits_scaling=0.7,
        num_local_experts=0, shared_intermediate_size=26, position_embedding_type="rope", mamba_n_heads=6,
        mamba_n_groups=2, mamba_d_state=5, mamba_d_conv=3, mamba_expand=3, mamba_proj_bias=True, mamba_conv_bias=False,
        layer_types=["full_attention", "linear_attention"], **rope(200.0)),
    "granite4_odd": dict(  # heads of 5, where nothing rotates
        dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=12, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=False,
        embedding_multiplier=2.0, attention_multiplier=0.6, residual_multiplier=0.8, logits_scaling=2.0,
        num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=14, mamba_n_heads=4, mamba_n_groups=1,
        mamba_d_state=5, unseen=("rope_theta",), layer_types=["full_attention", "linear_attention"], **rope(200.0)),
}, draw=draw, neutrals=neutrals, publish=publish)]
