"""Zamba 2: Mamba-2 layers, into some of which attention and a feed-forward that several layers share add, each time with
adapters of their own."""
from decoder import decoder, draw_ends, draw_part, keep_only, publish_rope, rope
from draws import matrix
from mamba2 import draw_mamba2_part, neutrals
from transformers import Zamba2ForCausalLM


def draw(model, normal):
    """Scores are larger than others' by sqrt(2), and what adapters add to them makes them larger still."""
    for name, value in model.named_parameters():
        if "q_proj" in name or "k_proj" in name:
            matrix(normal, value, 0.9)
        elif "adapter" in name:
            matrix(normal, value, 0.6)
        elif name.endswith(".linear.weight"):
            matrix(normal, value, 0.3)
        elif name.endswith("out_proj.weight"):
            matrix(normal, value, 0.8)
        elif not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal, embedding_scale=0.5)


def further_changes(settings):
    yield "use_mem_rope", {**settings, "use_mem_rope": not settings["use_mem_rope"]}


def publish(config, settings):
    """The hub's files call layers mamba and hybrid, and list the hybrid ones again."""
    publish_rope(config)
    kinds = ["mamba" if kind == "linear_attention" else kind for kind in config["layers_block_type"]]
    config["layers_block_type"] = kinds
    config["hybrid_layer_ids"] = [layer for layer, kind in enumerate(kinds) if kind == "hybrid"]
    config["time_step_limit"] = None
    keep_only(config, """adapter_rank add_bias_linear attention_dropout attention_head_dim attention_hidden_size
              chunk_size hidden_act hybrid_layer_ids intermediate_size kv_channels layers_block_type mamba_d_conv
              mamba_d_state mamba_expand mamba_headdim mamba_ngroups n_mamba_heads num_key_value_heads
              num_logits_to_keep num_mem_blocks num_query_groups pad_token_id rms_norm_eps time_step_floor
              time_step_limit time_step_max time_step_min use_conv_bias use_long_context use_mem_eff_path use_mem_rope
              use_shared_attention_adapter""")


FAMILIES = [decoder(Zamba2ForCausalLM, {
    "zamba2_published": dict(
        published=True, dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=18, num_hidden_layers=4,
        layers_block_type=["linear_attention", "hybrid", "hybrid", "hybrid"], num_attention_heads=3, num_mem_blocks=2,
        use_shared_attention_adapter=True, adapter_rank=3, use_mem_rope=True, hidden_act="gelu", n_mamba_heads=4,
        mamba_ngroups=2, mamba_d_state=6, rms_norm_eps=0.02, tie_word_embeddings=True, **rope(300.0)),
    "zamba2_biased": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
        layers_block_type=["hybrid", "linear_attention", "hybrid"], num_attention_heads=4,
        num_key_value_heads=2, num_mem_blocks=1, adapter_rank=4, use_mem_rope=False, hidden_act="silu",
        add_bias_linear=True, n_mamba_heads=6, mamba_ngroups=1, mamba_d_state=5, mamba_d_conv=3, mamba_expand=3,
        rms_norm_eps=0.02, tie_word_embeddings=True),
}, draw=draw, neutrals=neutrals, publish=publish, further_changes=further_changes)]
