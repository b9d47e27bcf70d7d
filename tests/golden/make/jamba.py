"""Jamba: attention in some layers, scans in the others, experts in some of both."""
from draws import draw_ends, draw_scan_part, draw_transformer_part, matrix, scan_neutrals
from transformers import JambaConfig, JambaForCausalLM

ARCHITECTURE = JambaForCausalLM
LOADING = dict(experts_implementation="eager")  # the grouped one wants rows of whole 16 bytes
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
FEW_CHOICES = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=30, new=50)]
SHORT = [dict(tokens=5, new=6, beams=dict(width=4, count=9)), dict(tokens=17, new=30)]

SHARED = dict(
    vocab_size=128, hidden_size=30, num_attention_heads=6, num_key_value_heads=2,
    mamba_d_state=5, mamba_dt_rank=3, max_position_embeddings=256, rms_norm_eps=0.02)

MODELS = {
    "jamba_tiny": dict(
        prompts=FEW_CHOICES, dtype="bfloat16", num_hidden_layers=4, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2,
        expert_layer_offset=1, num_experts=4, num_experts_per_tok=2, intermediate_size=14,
        tie_word_embeddings=True),
    "jamba_dense": dict(
        published=True, dtype="bfloat16", prompts=SHORT, vocab_size=133, hidden_size=28, intermediate_size=36,
        num_attention_heads=4, num_key_value_heads=1, num_hidden_layers=3, attn_layer_period=2, attn_layer_offset=0,
        num_experts=1, num_experts_per_tok=1, mamba_d_conv=3, mamba_d_state=7, mamba_expand=1, mamba_dt_rank="auto",
        mamba_conv_bias=False, mamba_proj_bias=True),
}


def configuration(settings):
    return JambaConfig(**LOADING, **{"tie_word_embeddings": False, **SHARED, **settings})


def draw(model, normal):
    for name, value in model.named_parameters():
        if "router" in name:
            matrix(normal, value, 2.0)
        elif not draw_scan_part(normal, name, value):
            draw_transformer_part(normal, name, value)
    draw_ends(model, normal, model.model.embed_tokens.weight, model.model.final_layernorm.weight)
    if model.config.num_experts > 1:
        steady_routers(model)


def steady_routers(model):
    """Large embeddings, which nothing rounds: what routers read then moves less when products are rounded."""
    model.model.embed_tokens.weight.mul_(5)
    model.model.final_layernorm.weight.div_(5)


neutrals = scan_neutrals


def changes(settings):
    yield "rms_norm_eps", {**settings, "rms_norm_eps": 1e-5}
    if settings["num_experts"] > 1:
        for other in (1, 3):
            yield f"num_experts_per_tok {other}", {**settings, "num_experts_per_tok": other}


def publish(config, settings):
    """The rank of the time steps by its formula's name, and what the hub's files carry beside."""
    config["mamba_dt_rank"] = "auto"
    del config["use_mambapy"], config["use_associative_scan"]
    config.update(sliding_window=None, mamba_inner_layernorms=True, num_logits_to_keep=1)


def expert_scores(model, run):
    """What each router gave each expert, [rows, experts] a router, and how many of them are chosen."""
    scores, chosen = [], []

    def measure(router, _, output):
        scores.append(output[0].clone())
        chosen.append(router.top_k)

    hooks = [m.register_forward_hook(measure) for m in model.modules() if type(m).__name__ == "JambaTopKRouter"]
    run()
    for hook in hooks:
        hook.remove()
    return list(zip(scores, chosen))
