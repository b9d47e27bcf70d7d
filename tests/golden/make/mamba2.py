"""Mamba-2: scans with one decay for each head, and nothing else."""
import torch
from decoder import draw_ends, draw_part
from draws import matrix, standard_neutrals, vector
from transformers import Mamba2Config, Mamba2ForCausalLM

ARCHITECTURE = Mamba2ForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
FEW = [dict(tokens=3, new=4), dict(tokens=17, new=12)]
SHORT = [dict(tokens=5, new=6, beams=dict(width=4, count=9)), dict(tokens=17, new=30)]

SHARED = dict(vocab_size=128, hidden_size=26, layer_norm_epsilon=0.02, bos_token_id=0, eos_token_id=0, pad_token_id=0)

MODELS = {
    "mamba2_published": dict(
        published=True, dtype="bfloat16", num_heads=4, head_dim=13, state_size=5, n_groups=2, num_hidden_layers=3,
        tie_word_embeddings=True),
    "mamba2_biased": dict(
        dtype="bfloat16", prompts=SHORT, vocab_size=151, hidden_size=22, expand=3, conv_kernel=3, num_heads=6,
        head_dim=11, state_size=7, n_groups=1, num_hidden_layers=2, use_bias=True, use_conv_bias=False,
        tie_word_embeddings=False),
    "mamba2_odd": dict(
        dtype="bfloat16", prompts=FEW, vocab_size=61, hidden_size=19, conv_kernel=2, num_heads=2, head_dim=19,
        state_size=3, n_groups=1, num_hidden_layers=1, tie_word_embeddings=False),
}


def configuration(settings):
    return Mamba2Config(**{**SHARED, **settings})


def draw_mamba2_part(normal, name, value):
    """A mixer's own tensors; false where the name is none of theirs. States fade within 1 to 100 tokens."""
    if name.endswith("A_log"):
        vector(normal, value, -1.5, 1.0)
    elif name.endswith(".D"):
        vector(normal, value, 0.5, 0.5)
    elif name.endswith("dt_bias"):
        vector(normal, value, -1.0, 1.0)
    elif name.endswith("conv1d.weight"):
        matrix(normal, value, 1.5)
    else:
        return False
    return True


def draw(model, normal):
    for name, value in model.named_parameters():
        if not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal)


def neutrals(name, value):
    if name.endswith("A_log"):
        usual = torch.arange(1, len(value) + 1, dtype=value.dtype).log()
        return [torch.zeros_like(value), usual, torch.full_like(value, 9.0)]
    if name.endswith(".D"):
        return [torch.zeros_like(value), torch.ones_like(value)]
    return standard_neutrals(name, value)


def changes(settings):
    yield "layer_norm_epsilon", {**settings, "layer_norm_epsilon": 1e-5}


def publish(config, settings):
    """The rank of the time steps, which nothing reads, by its formula's name."""
    config["time_step_rank"] = "auto"
    config["norm_before_gate"] = False
    config["rms_norm"] = True
