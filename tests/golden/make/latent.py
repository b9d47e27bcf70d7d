"""Decoders with latent attention: what of a token is cached is one vector for all heads, and one rotated key."""
import dataclasses

from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from draws import matrix
from moe import draw_moe, moe_decoder
from transformers import (
    DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, Glm4MoeLiteForCausalLM, MiniCPM3ForCausalLM, Mistral4ForCausalLM)

SIZES = """attention_bias attention_dropout hidden_act intermediate_size num_key_value_heads rms_norm_eps rope_scaling
           kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim"""
EXPERTS = """first_k_dense_replace moe_intermediate_size n_group topk_group n_shared_experts norm_topk_prob
             num_experts_per_tok routed_scaling_factor n_routed_experts"""


@dataclasses.dataclass
class grouped_decoder(moe_decoder):
    """Routers of softmax scores, with groups by their best or two best experts."""

    def changes(self, settings):
        for label, other in super().changes(settings):
            if not (label == "norm_topk_prob" and self.ARCHITECTURE is DeepseekV2ForCausalLM):  # which ignores it
                yield label, other
        if settings.get("topk_method") == "group_limited_greedy":
            yield "topk_method", {**settings, "topk_method": "greedy"}

    def expert_scores(self, model, run):
        found = []
        hooks = [module.register_forward_hook(
                     lambda m, _, output: found.extend(softmax_choices(m, model.config, output[0])))
                 for name, module in model.named_modules() if type(module).__name__.endswith("Router")]
        run()
        for hook in hooks:
            hook.remove()
        return found


def softmax_choices(router, config, logits):
    """As moe.choices()."""
    scores = logits.softmax(1)
    groups = config.n_group or 1
    if groups == 1 or getattr(config, "topk_method", "") == "greedy":
        return [(scores, config.num_experts_per_tok)]
    apart = scores.unflatten(1, (groups, -1))
    best = apart.max(2).values if hasattr(config, "topk_method") else apart.topk(2).values.sum(2)
    worst = best.topk(config.topk_group).values[:, -1:]
    left = apart.masked_fill((best < worst).unsqueeze(2), 0).flatten(1)
    return [(best, config.topk_group), (left, config.num_experts_per_tok)]


def draw_latent(model, normal):
    draw_moe(model, normal)
    sharpen(model, normal)


def draw_scaled(model, normal):
    draw_decoder(model, normal, embedding_scale=model.config.scale_emb, logit_scale=1 / model.config.logits_scaling)
    sharpen(model, normal)


def sharpen(model, normal):
    """Scores far from even."""
    for name, value in model.named_parameters():
        if name.endswith(("q_proj.weight", "q_b_proj.weight", "kv_b_proj.weight")):
            matrix(normal, value, 1.7)


def publish_deepseek(config, settings):
    publish_rope(config)
    experts = config.pop("num_local_experts", None) or config.get("num_experts") or config["n_routed_experts"]
    v3 = config["model_type"] == "deepseek_v3"
    keep_only(config, f"{SIZES} {EXPERTS} topk_method {'num_nextn_predict_layers' if v3 else 'mlp_bias'}")
    config.update(n_routed_experts=experts, ep_size=1, moe_layer_freq=1, scoring_func="sigmoid" if v3 else "softmax")
    if v3:
        config["topk_method"] = "noaux_tc"
    if scaling := config["rope_scaling"]:
        scaling["type"] = scaling.pop("rope_type")


def publish_kimi(config, settings):
    publish_deepseek(config, settings)
    config["model_type"] = "kimi_k2"


def publish_minicpm(config, settings):
    publish_rope(config)
    keep_only(config, f"{SIZES} scale_emb scale_depth dim_model_base original_max_position_embeddings")
    if scaling := config["rope_scaling"]:
        scaling["type"] = scaling.pop("rope_type")


def publish_without_share(config, settings):
    """A part of each head is rotated, which follows from the widths of both parts."""
    del config["rope_parameters"]["partial_rotary_factor"]


YARN = dict(factor=8.0, beta_fast=0.9, original_max_position_embeddings=21)

FAMILIES = [
    moe_decoder(DeepseekV3ForCausalLM, {
        "deepseek_v3_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=21, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=14, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=8, v_head_dim=10,
            moe_intermediate_size=9, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, n_group=4,
            topk_group=2, norm_topk_prob=True, first_k_dense_replace=1, routed_scaling_factor=2.5,
            **rope(50.0, "yarn", beta_slow=0.13, mscale=0.7, mscale_all_dim=1.3, **YARN)),
        "deepseek_v3_biased": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=26, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=4, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=None, kv_lora_rank=17, qk_nope_head_dim=5, qk_rope_head_dim=4, v_head_dim=7,
            attention_bias=True, rope_interleave=False, moe_intermediate_size=10, n_routed_experts=6,
            n_shared_experts=1, num_experts_per_tok=2, n_group=1, topk_group=1, norm_topk_prob=False,
            first_k_dense_replace=1, routed_scaling_factor=0.8, **rope(60.0)),
        "deepseek_v3_odd": dict(
            dtype="bfloat16", vocab_size=47, hidden_size=19, intermediate_size=13, num_hidden_layers=2,
            num_attention_heads=1, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=False, q_lora_rank=7,
            kv_lora_rank=9, qk_nope_head_dim=5, qk_rope_head_dim=6, v_head_dim=11, moe_intermediate_size=5,
            n_routed_experts=3, n_shared_experts=1, num_experts_per_tok=1, n_group=1, topk_group=1,
            norm_topk_prob=False, first_k_dense_replace=1, routed_scaling_factor=1.7, **rope(60.0)),
    }, draw=draw_latent, publish=publish_deepseek),
    moe_decoder(DeepseekV3ForCausalLM, {
        "kimi_k2_published": dict(
            published=True, dtype="bfloat16", vocab_size=96, hidden_size=22, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=12, kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=8, v_head_dim=7,
            moe_intermediate_size=8, n_routed_experts=7, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
            topk_group=1, norm_topk_prob=True, first_k_dense_replace=1, routed_scaling_factor=2.8,
            **rope(50.0, "yarn", beta_slow=0.13, mscale=1.1, mscale_all_dim=1.1, **YARN)),
    }, draw=draw_latent, publish=publish_kimi),
    grouped_decoder(DeepseekV2ForCausalLM, {
        "deepseek_v2_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=19, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=13, kv_lora_rank=10, qk_nope_head_dim=8, qk_rope_head_dim=6, v_head_dim=8,
            moe_intermediate_size=10, n_routed_experts=9, n_shared_experts=2, num_experts_per_tok=3, n_group=3,
            topk_group=2, topk_method="group_limited_greedy", first_k_dense_replace=1, routed_scaling_factor=3.0,
            **rope(40.0, "yarn", beta_slow=0.15, mscale=1.2, mscale_all_dim=1.2, **YARN)),
        "deepseek_v2_lite": dict(
            published=True, dtype="bfloat16", vocab_size=95, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=None, kv_lora_rank=14, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=9,
            moe_intermediate_size=8, n_routed_experts=6, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
            topk_group=1, topk_method="greedy", first_k_dense_replace=1, routed_scaling_factor=1.5, **rope(60.0)),
        "deepseek_v2_biased": dict(
            dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=14, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=None, kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=6, mlp_bias=True,
            moe_intermediate_size=8, n_routed_experts=5, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
            topk_group=1, topk_method="greedy", first_k_dense_replace=1, routed_scaling_factor=1.5, **rope(60.0)),
    }, draw=draw_latent, publish=publish_deepseek),
    grouped_decoder(Mistral4ForCausalLM, {
        "mistral4_grown": dict(
            dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=12, kv_lora_rank=11, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=9,
            moe_intermediate_size=9, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2, n_group=4,
            topk_group=2, norm_topk_prob=True, first_k_dense_replace=1, routed_scaling_factor=1.6,
            **rope(50.0, "yarn", beta_slow=0.13, mscale=1.2, mscale_all_dim=0.9, llama_4_scaling_beta=0.3, **YARN)),
    }, draw=draw_latent),
    grouped_decoder(Mistral4ForCausalLM, {
        "mistral4_linear": dict(
            published=True, dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=12, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=10, kv_lora_rank=9, qk_nope_head_dim=6, qk_rope_head_dim=8, v_head_dim=7,
            moe_intermediate_size=8, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
            topk_group=1, norm_topk_prob=True, first_k_dense_replace=1, routed_scaling_factor=1.6,
            **rope(50.0, "linear", factor=3.0, mscale_all_dim=1.5, llama_4_scaling_beta=0.6,
                   original_max_position_embeddings=5)),
    }, draw=draw_latent, publish=publish_without_share),
    moe_decoder(Glm4MoeLiteForCausalLM, {
        "glm4_moe_lite_tiny": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=17, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=11, kv_lora_rank=13, qk_nope_head_dim=9, qk_rope_head_dim=6, v_head_dim=12,
            moe_intermediate_size=8, n_routed_experts=5, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
            topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.4, **rope(60.0)),
        "glm4_moe_lite_typed": dict(
            dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=13, num_hidden_layers=3,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=9, kv_lora_rank=10, qk_nope_head_dim=5, qk_rope_head_dim=6, v_head_dim=7,
            mlp_layer_types=["sparse", "dense", "sparse"], moe_intermediate_size=7, n_routed_experts=4,
            n_shared_experts=1, num_experts_per_tok=2, n_group=1, topk_group=1, norm_topk_prob=True,
            routed_scaling_factor=1.4, **rope(60.0)),
    }, draw=draw_latent),
    decoder(MiniCPM3ForCausalLM, {
        "minicpm3_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02, tie_word_embeddings=True,
            q_lora_rank=13, kv_lora_rank=12, qk_nope_head_dim=7, qk_rope_head_dim=6, v_head_dim=None,
            scale_emb=12, scale_depth=1.4, dim_model_base=256, max_position_embeddings=512,
            original_max_position_embeddings=64, unseen=("long_factor",),
            **rope(50.0, "longrope", short_factor=[1.0, 1.3, 2.1], long_factor=[1.2, 3.5, 9.0])),
        "minicpm3_scaled": dict(
            dtype="bfloat16", vocab_size=98, hidden_size=26, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            q_lora_rank=None, kv_lora_rank=9, qk_nope_head_dim=5, qk_rope_head_dim=4, v_head_dim=8,
            attention_bias=True, scale_emb=3.0, scale_depth=0.9, dim_model_base=13, **rope(60.0)),
    }, draw=draw_scaled, publish=publish_minicpm),
]
