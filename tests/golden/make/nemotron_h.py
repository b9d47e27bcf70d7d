"""Nemotron-H: layers of one part each, which is Mamba-2, attention without positions, a feed-forward or experts."""
from decoder import decoder, draw_ends, draw_part, keep_only
from mamba2 import draw_mamba2_part, neutrals
from moe import draw_routers, moe_decoder
from transformers import NemotronHForCausalLM


def draw(model, normal):
    for name, value in model.named_parameters():
        if not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal)
    if "moe" in model.config.layers_block_type:
        draw_routers(model, normal)


def publish(config, settings):
    """The hub's files have a letter for each layer."""
    letters = dict(linear_attention="M", moe="E", full_attention="*", mlp="-")
    config["hybrid_override_pattern"] = "".join(letters[kind] for kind in settings["layers_block_type"])
    config["num_hidden_layers"] = len(settings["layers_block_type"])
    keep_only(config, """attention_bias attention_dropout chunk_size conv_kernel expand head_dim hidden_dropout
              hybrid_override_pattern intermediate_size layer_norm_epsilon mamba_head_dim mamba_hidden_act
              mamba_num_heads mamba_proj_bias mlp_bias mlp_hidden_act moe_intermediate_size
              moe_shared_expert_intermediate_size n_group n_groups n_routed_experts n_shared_experts norm_topk_prob
              num_experts_per_tok num_key_value_heads num_logits_to_keep rescale_prenorm_residual residual_in_fp32
              routed_scaling_factor sliding_window ssm_state_size time_step_floor time_step_limit time_step_max
              time_step_min topk_group use_bias use_conv_bias""")


SHARED = dict(dtype="bfloat16", tie_word_embeddings=False)

FAMILIES = [
    decoder(NemotronHForCausalLM, {
        "nemotron_h_published": dict(
            published=True, vocab_size=96, hidden_size=24, intermediate_size=20, num_attention_heads=3,
            num_key_value_heads=1, head_dim=10, layer_norm_epsilon=0.02, mamba_num_heads=4, mamba_head_dim=9,
            n_groups=2, ssm_state_size=6, layers_block_type=["linear_attention", "mlp", "full_attention", "mlp"],
            **SHARED),
    }, draw=draw, neutrals=neutrals, publish=publish),
    moe_decoder(NemotronHForCausalLM, {
        "nemotron_h_moe": dict(
            vocab_size=97, hidden_size=24, intermediate_size=18, num_attention_heads=4,
            num_key_value_heads=2, head_dim=6, layer_norm_epsilon=0.6, mamba_num_heads=3, mamba_head_dim=10,
            n_groups=1, ssm_state_size=5, conv_kernel=3, use_conv_bias=False, moe_intermediate_size=9,
            moe_shared_expert_intermediate_size=13, n_routed_experts=6, num_experts_per_tok=2, norm_topk_prob=True,
            routed_scaling_factor=1.5, layers_block_type=["moe", "linear_attention", "moe", "full_attention"],
            **SHARED),
        "nemotron_h_latent": dict(
            vocab_size=48, hidden_size=20, intermediate_size=12, num_attention_heads=3, num_key_value_heads=1,
            head_dim=5, layer_norm_epsilon=0.6, mamba_num_heads=2, mamba_head_dim=9, n_groups=1, ssm_state_size=5,
            moe_latent_size=11, mlp_bias=True, moe_intermediate_size=9, moe_shared_expert_intermediate_size=10,
            n_routed_experts=5, num_experts_per_tok=2, norm_topk_prob=True, routed_scaling_factor=1.5,
            layers_block_type=["linear_attention", "moe", "full_attention", "moe"], **SHARED),
    }, draw=draw, neutrals=neutrals, publish=publish),
]
