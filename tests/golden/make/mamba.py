"""Mamba: selective scans and nothing else."""
from draws import draw_ends, draw_scan_part, draw_transformer_part, scan_neutrals
from transformers import MambaConfig, MambaForCausalLM

ARCHITECTURE = MambaForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
SHORT = [dict(tokens=5, new=6, beams=dict(width=4, count=9)), dict(tokens=17, new=30)]

SHARED = dict(
    vocab_size=128, hidden_size=26, state_size=5, conv_kernel=4, expand=2,
    layer_norm_epsilon=0.02, bos_token_id=0, eos_token_id=0, pad_token_id=0)

MODELS = {
    "mamba_tiny": dict(published=True, dtype="bfloat16", num_hidden_layers=3, tie_word_embeddings=True),
    "mamba_biased": dict(
        dtype="bfloat16", prompts=SHORT, vocab_size=151, hidden_size=22, expand=3, conv_kernel=3, state_size=7,
        time_step_rank=5, num_hidden_layers=2, use_bias=True, use_conv_bias=False),
}


def configuration(settings):
    return MambaConfig(**{"tie_word_embeddings": False, **SHARED, **settings})


def draw(model, normal):
    for name, value in model.named_parameters():
        if not draw_scan_part(normal, name, value):
            draw_transformer_part(normal, name, value)
    draw_ends(model, normal, model.backbone.embeddings.weight, model.backbone.norm_f.weight)


neutrals = scan_neutrals


def changes(settings):
    yield "layer_norm_epsilon", {**settings, "layer_norm_epsilon": 1e-5}


def publish(config, settings):
    """The rank of the time steps by its formula's name, nothing about tied embeddings, and what older writers add."""
    config["time_step_rank"] = "auto"
    del config["tie_word_embeddings"], config["use_mambapy"], config["use_associative_scan"]
    config.update(d_model=config["hidden_size"], d_inner=config["intermediate_size"],
                  n_layer=config["num_hidden_layers"], rms_norm=True, fused_add_norm=True, ssm_cfg={})
