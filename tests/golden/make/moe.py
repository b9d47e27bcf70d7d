"""Decoders with experts: what a router chooses, and what of it a reader may forget."""
import dataclasses

from decoder import decoder, draw_decoder, keep_only, last_norm, publish_rope, rope
from draws import matrix, vector
from transformers import (
    Dots1ForCausalLM, Glm4MoeForCausalLM, GptOssForCausalLM, GraniteMoeForCausalLM, MiniMaxM2ForCausalLM,
    MixtralForCausalLM, OlmoeForCausalLM, Qwen2MoeForCausalLM, Qwen3MoeForCausalLM)

FEW_CHOICES = [dict(tokens=3, new=2), dict(tokens=7, new=2), dict(tokens=12, new=14)]


@dataclasses.dataclass
class moe_decoder(decoder):
    """Experts computed one by one: the grouped ones want rows of whole 16 bytes."""
    LOADING: dict = dataclasses.field(default_factory=lambda: dict(experts_implementation="eager"))
    PROMPTS: list = dataclasses.field(default_factory=lambda: FEW_CHOICES)
    logits_at: int = 0  # in what a router returns

    def __post_init__(self):
        self.draw = self.draw or draw_moe

    def changes(self, settings):
        yield from super().changes(settings)
        chosen = settings["num_experts_per_tok"]
        for other in (chosen - 1, chosen + 1):
            yield f"num_experts_per_tok {other}", {**settings, "num_experts_per_tok": other}
        if "norm_topk_prob" in settings:
            yield "norm_topk_prob", {**settings, "norm_topk_prob": not settings["norm_topk_prob"]}
        if settings.get("n_group", 1) > 1:
            yield "n_group", {**settings, "n_group": 1, "topk_group": 1}
            yield "topk_group", {**settings, "topk_group": settings["topk_group"] + 1}

    def expert_scores(self, model, run):
        """What each router gave each expert, [rows, experts] a router, and how many of them are chosen."""
        found = []
        hooks = [module.register_forward_hook(lambda m, given, output: found.extend(
            choices(m, model.config, given, output[self.logits_at])))
                 for name, module in model.named_modules() if type(module).__name__.endswith("Router")]
        run()
        for hook in hooks:
            hook.remove()
        return found


def choices(router, config, given, logits):
    """(scores, chosen) of a router's groups, if it has several, and of its experts."""
    bias = getattr(router, "e_score_correction_bias", given[1] if len(given) > 1 else None)
    if bias is None:
        return [(logits.clone(), config.num_experts_per_tok)]
    scores = logits.sigmoid() + bias
    if getattr(router, "num_group", 1) == 1:
        return [(scores, router.top_k)]
    groups = scores.unflatten(1, (router.num_group, -1))
    group_scores = groups.topk(2).values.sum(2)
    worst = group_scores.topk(router.topk_group).values[:, -1:]
    left = groups.masked_fill((group_scores < worst).unsqueeze(2), -9).flatten(1)
    return [(group_scores, router.topk_group), (left, router.top_k)]


def draw_moe(model, normal):
    draw_decoder(model, normal)
    draw_routers(model, normal)


def draw_routers(model, normal):
    for name, value in model.named_parameters():
        if is_router(name):
            matrix(normal, value, 2.0)
    for name, value in model.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            vector(normal, value)
    steady_routers(model)


def is_router(name):
    return name.endswith((".gate.weight", ".router.weight"))


def steady_routers(model):
    """Large embeddings, which nothing rounds: what routers read then moves less when products are rounded."""
    model.get_input_embeddings().weight.mul_(5)
    if model.config.tie_word_embeddings:
        last_norm(model).weight.div_(5)


def publish_qwen(config, settings):
    """num_experts by its old name, and the hub's window that is not used."""
    publish_rope(config)
    experts = config.pop("num_local_experts", None) or config["num_experts"]
    keep_only(config, """attention_dropout hidden_act intermediate_size num_key_value_heads rms_norm_eps
              use_sliding_window attention_bias rope_scaling head_dim decoder_sparse_step moe_intermediate_size
              num_experts_per_tok norm_topk_prob mlp_only_layers shared_expert_intermediate_size max_window_layers""")
    config.update(num_experts=experts, sliding_window=7)


def publish_unread_windows(config, settings):
    """Keys of other Qwens, by which no layer would have the window."""
    config.update(max_window_layers=9, layer_types=["full_attention"] * settings["num_hidden_layers"])


def publish_mixtral(config, settings):
    publish_rope(config)
    keep_only(config, """attention_dropout hidden_act intermediate_size num_key_value_heads rms_norm_eps
              sliding_window num_local_experts num_experts_per_tok router_aux_loss_coef""")


def publish_olmoe(config, settings):
    publish_rope(config)
    keep_only(config, """attention_bias attention_dropout clip_qkv hidden_act intermediate_size num_key_value_heads
              rms_norm_eps rope_scaling num_experts num_experts_per_tok norm_topk_prob router_aux_loss_coef""")
    config["num_experts"] = settings["num_experts"]


def publish_granite(config, settings):
    publish_rope(config)
    keep_only(config, """attention_bias attention_dropout attention_multiplier embedding_multiplier hidden_act
              intermediate_size logits_scaling num_key_value_heads residual_multiplier rms_norm_eps rope_scaling
              num_local_experts num_experts_per_tok router_aux_loss_coef""")


def publish_sigmoid(config, settings):
    publish_rope(config)
    experts = config.pop("num_local_experts", None) or config["n_routed_experts"]
    keep_only(config, """attention_bias attention_dropout head_dim hidden_act intermediate_size num_key_value_heads
              rms_norm_eps rope_scaling partial_rotary_factor sliding_window max_window_layers first_k_dense_replace
              moe_intermediate_size n_group topk_group n_shared_experts norm_topk_prob num_experts_per_tok
              routed_scaling_factor use_qk_norm""")
    config["n_routed_experts"] = experts


def publish_minimax(config, settings):
    """The hub's files say how many numbers of a head are rotated."""
    publish_rope(config)
    config["rotary_dim"] = int(config.pop("partial_rotary_factor") * config["head_dim"])
    experts = settings["num_local_experts"]
    keep_only(config, """attention_dropout head_dim hidden_act intermediate_size num_key_value_heads rms_norm_eps
              rotary_dim num_experts_per_tok""")
    config.update(num_local_experts=experts, num_mtp_modules=3, qk_norm_type="per_layer", scoring_func="sigmoid",
                  shared_intermediate_size=0, use_qk_norm=True, use_routing_bias=True)


def publish_gpt_oss(config, settings):
    publish_rope(config)
    keep_only(config, """attention_bias attention_dropout head_dim hidden_act intermediate_size layer_types
              num_key_value_heads rms_norm_eps rope_scaling sliding_window num_local_experts num_experts_per_tok
              swiglu_limit quantization_config""")
    config["experts_per_token"] = config["num_experts_per_tok"]


def draw_gpt_oss(model, normal):
    """Experts are stored [experts, inputs, outputs]; a sink's logit is as large as others."""
    draw_moe(model, normal)
    for name, value in model.named_parameters():
        if name.endswith(("gate_up_proj", "down_proj")):
            matrix(normal, value.transpose(1, 2), 1.2)
        elif name.endswith("proj_bias"):
            vector(normal, value)
        elif name.endswith("sinks"):
            vector(normal, value, 1.0, 1.0)


FAMILIES = [
    moe_decoder(Qwen3MoeForCausalLM, {
        "qwen3_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=27, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=True,
            moe_intermediate_size=14, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True, **rope(700.0)),
        "qwen3_moe_mixed": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=22, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=0.02, tie_word_embeddings=False,
            moe_intermediate_size=9, num_experts=7, num_experts_per_tok=3, norm_topk_prob=False,
            decoder_sparse_step=2, mlp_only_layers=[3], attention_bias=True, **rope(300.0)),
    }, publish=publish_qwen),
    moe_decoder(Qwen3MoeForCausalLM, {
        "qwen3_moe_window": dict(
            published=True, dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=14, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=6, rms_norm_eps=0.02, tie_word_embeddings=False,
            use_sliding_window=True, sliding_window=7, moe_intermediate_size=8, num_experts=4, num_experts_per_tok=2,
            norm_topk_prob=True, **rope(300.0)),
    }, publish=publish_unread_windows),
    moe_decoder(MixtralForCausalLM, {
        "mixtral_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=30, intermediate_size=13, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=False,
            num_local_experts=4, num_experts_per_tok=2, **rope(900.0)),
        "mixtral_window": dict(
            dtype="bfloat16", vocab_size=95, hidden_size=24, intermediate_size=11, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.6, tie_word_embeddings=True,
            sliding_window=7, num_local_experts=6, num_experts_per_tok=3, **rope(200.0)),
        "mixtral_odd": dict(
            dtype="bfloat16", vocab_size=47, hidden_size=21, intermediate_size=7, num_hidden_layers=1,
            num_attention_heads=3, num_key_value_heads=1, head_dim=10, rms_norm_eps=0.6, tie_word_embeddings=False,
            num_local_experts=3, num_experts_per_tok=2, **rope(200.0)),
    }, publish=publish_mixtral),
    moe_decoder(Qwen2MoeForCausalLM, {
        "qwen2_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02, tie_word_embeddings=False,
            moe_intermediate_size=10, shared_expert_intermediate_size=17, num_experts=5, num_experts_per_tok=2,
            norm_topk_prob=False, **rope(500.0)),
        "qwen2_moe_mixed": dict(
            dtype="bfloat16", vocab_size=99, hidden_size=24, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=True,
            use_sliding_window=True, sliding_window=7, max_window_layers=2, moe_intermediate_size=8,
            shared_expert_intermediate_size=6, num_experts=6, num_experts_per_tok=3, norm_topk_prob=True,
            mlp_only_layers=[1], qkv_bias=False, **rope(100.0)),
    }, publish=publish_qwen),
    moe_decoder(OlmoeForCausalLM, {
        "olmoe_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=9, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02, tie_word_embeddings=False,
            num_experts=8, num_experts_per_tok=3, norm_topk_prob=False, **rope(400.0)),
        "olmoe_clipped": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=11, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False,
            num_experts=5, num_experts_per_tok=2, norm_topk_prob=True, clip_qkv=0.9, **rope(300.0)),
    }, publish=publish_olmoe),
    moe_decoder(GraniteMoeForCausalLM, {
        "granitemoe_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=13, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=True,
            embedding_multiplier=3.0, attention_multiplier=0.5, residual_multiplier=0.7, logits_scaling=4.0,
            num_local_experts=6, num_experts_per_tok=2, **rope(300.0)),
    }, publish=publish_granite),
    moe_decoder(Dots1ForCausalLM, {
        "dots1_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=21, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02, tie_word_embeddings=False,
            moe_intermediate_size=9, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=3,
            norm_topk_prob=True, first_k_dense_replace=1, routed_scaling_factor=2.5, sliding_window=7,
            max_window_layers=2, **rope(500.0)),
    }, publish=publish_sigmoid),
    moe_decoder(Glm4MoeForCausalLM, {
        "glm4_moe_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=19, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=12, rms_norm_eps=0.02, tie_word_embeddings=False,
            moe_intermediate_size=10, n_routed_experts=5, n_shared_experts=1, num_experts_per_tok=2,
            norm_topk_prob=True, first_k_dense_replace=1, attention_bias=True, use_qk_norm=True,
            routed_scaling_factor=1.7, **rope(400.0, partial_rotary_factor=0.5)),
        "glm4_moe_grouped": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=17, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=0.6, tie_word_embeddings=False,
            moe_intermediate_size=7, n_routed_experts=12, n_shared_experts=2, num_experts_per_tok=3,
            norm_topk_prob=False, first_k_dense_replace=0, n_group=4, topk_group=2, routed_scaling_factor=0.8,
            **rope(300.0, partial_rotary_factor=0.25)),
    }, publish=publish_sigmoid),
    moe_decoder(MiniMaxM2ForCausalLM, {
        "minimax_m2_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=11, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=False,
            num_local_experts=6, num_experts_per_tok=3, **rope(500.0, partial_rotary_factor=0.5)),
    }, publish=publish_minimax),
    moe_decoder(GptOssForCausalLM, {
        "gpt_oss_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=14, num_hidden_layers=2,
            num_attention_heads=6, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.6, tie_word_embeddings=False,
            sliding_window=7, num_local_experts=5, num_experts_per_tok=2, swiglu_limit=1.1,
            layer_types=["sliding_attention", "full_attention"],
            **rope(100.0, "yarn", factor=4.0, beta_fast=3.0, beta_slow=0.6, original_max_position_embeddings=64,
                   truncate=False)),
        "gpt_oss_mxfp4": dict(
            published=True, mxfp4=True, dtype="bfloat16", vocab_size=95, hidden_size=32, intermediate_size=64,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.6,
            tie_word_embeddings=False, sliding_window=7, num_local_experts=8, num_experts_per_tok=3,
            layer_types=["sliding_attention", "full_attention"],
            **rope(100.0, "yarn", factor=4.0, beta_fast=3.0, beta_slow=0.6, original_max_position_embeddings=64,
                   truncate=False)),
        "gpt_oss_full": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=27, intermediate_size=12, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=12, rms_norm_eps=0.6, tie_word_embeddings=True,
            attention_bias=False, sliding_window=9, num_local_experts=4, num_experts_per_tok=3, swiglu_alpha=1.3,
            swiglu_limit=0.9, layer_types=["full_attention", "full_attention"], unseen=[
                f"sliding_window {other}" for other in (8, 10, 4096)],
            **rope(200.0)),
    }, draw=draw_gpt_oss, publish=publish_gpt_oss),
]
