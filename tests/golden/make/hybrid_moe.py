"""Hybrids with experts: the mixers of lfm2.py, qwen3_5.py and granite_hybrid.py, the routers of moe.py."""
import granite_hybrid
import lfm2
import mamba2
import qwen3_5
import torch
from decoder import keep_only, publish_rope, rope
from moe import draw_routers, moe_decoder
from transformers import GraniteMoeHybridForCausalLM, Lfm2MoeForCausalLM, Qwen3_5MoeForCausalLM, Qwen3NextForCausalLM


def with_routers(draw):
    def drawn(model, normal):
        draw(model, normal)
        draw_routers(model, normal)
    return drawn


def publish_lfm2(config, settings):
    publish_rope(config)
    experts = config.pop("num_local_experts", None) or config["num_experts"]
    config["tie_embedding"] = config.pop("tie_word_embeddings")
    keep_only(config, """conv_L_cache conv_bias intermediate_size layer_types moe_intermediate_size norm_eps
              norm_topk_prob num_dense_layers num_experts_per_tok num_key_value_heads pad_token_id
              routed_scaling_factor tie_embedding use_expert_bias""")
    config.update(num_experts=experts, num_heads=config["num_attention_heads"], use_pos_enc=True)


def publish_next(config, settings):
    """The hub's files say how far apart the attending layers are."""
    publish_rope(config)
    experts = config.pop("num_local_experts", None) or config["num_experts"]
    config["full_attention_interval"] = config.pop("layer_types").index("full_attention") + 1
    keep_only(config, """attention_dropout decoder_sparse_step full_attention_interval head_dim hidden_act
              intermediate_size linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads linear_num_value_heads
              linear_value_head_dim mlp_only_layers moe_intermediate_size norm_topk_prob num_experts_per_tok
              num_key_value_heads partial_rotary_factor rms_norm_eps rope_scaling shared_expert_intermediate_size""")
    config["num_experts"] = experts


def publish_qwen3_5(config, settings):
    qwen3_5.publish(config, settings)
    config.update(architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe")
    config["vision_config"]["model_type"] = "qwen3_5_moe"
    config["text_config"]["model_type"] = "qwen3_5_moe_text"


def publish_stacked(tensors):
    """All experts of a layer in two tensors, as in the hub's files of Qwen 3.5."""
    kept = {name: value for name, value in tensors.items() if ".mlp.experts." not in name}
    for start in sorted({name.partition(".mlp.experts.")[0] for name in tensors if ".mlp.experts." in name}):
        count = len([name for name in tensors if name.startswith(f"{start}.mlp.experts.") and "down_proj" in name])
        part = lambda kind: torch.stack(
            [tensors[f"{start}.mlp.experts.{expert}.{kind}_proj.weight"] for expert in range(count)])
        kept[f"{start}.mlp.experts.gate_up_proj"] = torch.cat([part("gate"), part("up")], dim=1)
        kept[f"{start}.mlp.experts.down_proj"] = part("down")
    return qwen3_5.publish_tensors(kept)


def qwen_family(architecture, models, **published):
    return moe_decoder(
        architecture, models, draw=with_routers(qwen3_5.draw), neutrals=qwen3_5.neutrals, **published)


FAMILIES = [
    moe_decoder(Lfm2MoeForCausalLM, {
        "lfm2_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=21, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, norm_eps=0.02, moe_intermediate_size=10, num_dense_layers=1,
            num_experts=6, num_experts_per_tok=2, norm_topk_prob=True,
            layer_types=["conv", "full_attention", "conv"], tie_word_embeddings=True, **rope(500.0)),
        "lfm2_moe_scaled": dict(
            dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, norm_eps=0.6, moe_intermediate_size=9, num_dense_layers=0,
            num_experts=5, num_experts_per_tok=3, norm_topk_prob=False, use_expert_bias=False,
            routed_scaling_factor=1.6, layer_types=["full_attention", "conv"], tie_word_embeddings=False,
            **rope(300.0)),
    }, draw=with_routers(lfm2.draw), publish=publish_lfm2),
    qwen_family(Qwen3NextForCausalLM, {
        "qwen3_next_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=16, rms_norm_eps=0.02, tie_word_embeddings=False,
            linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=6, linear_value_head_dim=5,
            layer_types=["linear_attention", "full_attention"], moe_intermediate_size=10,
            shared_expert_intermediate_size=13, num_experts=6, num_experts_per_tok=2, norm_topk_prob=True,
            **rope(400.0, partial_rotary_factor=0.25)),
        "qwen3_next_mixed": dict(
            dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=False,
            attention_bias=True, linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=9,
            linear_value_head_dim=6, linear_conv_kernel_dim=3,
            layer_types=["full_attention", "linear_attention", "linear_attention"], moe_intermediate_size=9,
            shared_expert_intermediate_size=7, num_experts=5, num_experts_per_tok=3, norm_topk_prob=False,
            mlp_only_layers=[1], **rope(300.0, partial_rotary_factor=0.5)),
    }, publish=publish_next),
    qwen_family(Qwen3_5MoeForCausalLM, {
        "qwen3_5_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=96, hidden_size=26, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=16, rms_norm_eps=0.02, tie_word_embeddings=False,
            linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5,
            layer_types=["linear_attention", "full_attention"], moe_intermediate_size=11,
            shared_expert_intermediate_size=9, num_experts=7, num_experts_per_tok=3,
            **rope(400.0, partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True)),
    }, publish=publish_qwen3_5, publish_tensors=publish_stacked),
    qwen_family(Qwen3_5MoeForCausalLM, {
        "qwen3_5_moe_typed": dict(
            dtype="bfloat16", vocab_size=99, hidden_size=20, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=4, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=False,
            linear_num_key_heads=1, linear_num_value_heads=4, linear_key_head_dim=9, linear_value_head_dim=6,
            layer_types=["full_attention", "linear_attention"], moe_intermediate_size=8,
            shared_expert_intermediate_size=14, num_experts=4, num_experts_per_tok=2,
            **rope(300.0, partial_rotary_factor=0.5)),
    }),
    moe_decoder(GraniteMoeHybridForCausalLM, {
        "granite4_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=11, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=True,
            embedding_multiplier=3.0, attention_multiplier=0.5, residual_multiplier=0.7, logits_scaling=8.0,
            num_local_experts=6, num_experts_per_tok=2, shared_intermediate_size=14, mamba_n_heads=4, mamba_n_groups=1,
            mamba_d_state=6, unseen=("rope_theta",),
            layer_types=["linear_attention", "full_attention", "linear_attention"], **rope(300.0)),
    }, draw=with_routers(granite_hybrid.draw), neutrals=mamba2.neutrals, publish=granite_hybrid.publish),
]
