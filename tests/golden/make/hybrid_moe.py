"""Hybrids with experts: the mixers of lfm2.py, qwen3_5.py and granite_hybrid.py, the routers of moe.py."""
import lfm2
from decoder import keep_only, publish_rope, rope
from moe import draw_routers, moe_decoder
from transformers import Lfm2MoeForCausalLM


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
]
