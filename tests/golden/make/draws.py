"""Weights drawn so that every part matters. The usual initializations leave norms, biases and state spaces without
effect."""
import math

import torch


def draw_weights(family, model, seed):
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        family.draw(model, lambda shape: torch.randn(shape, generator=random))


def vector(normal, value, mean=0.0, deviation=0.3):
    value.copy_(normal(value.shape) * deviation + mean)


def matrix(normal, value, gain=1.2):
    """Keeps the size of what passes through it, but for the gain."""
    value.copy_(normal(value.shape) * gain / math.sqrt(value.shape[-1]))


def draw_transformer(model, normal):
    """Norms and biases far from trivial, attention scores far from even, logits with a standard deviation of 2."""
    for name, value in model.named_parameters():
        draw_transformer_part(normal, name, value)
    draw_ends(model, normal, model.model.embed_tokens.weight, model.model.norm.weight)


def is_norm(name):
    return name.endswith("weight") and ("norm" in name or ".ln_" in name)


def draw_transformer_part(normal, name, value):
    if value.dim() == 1:
        vector(normal, value, 1.0 if is_norm(name) else 0.0)
    else:
        matrix(normal, value, 1.7 if "q_proj" in name or "k_proj" in name else 1.2)


def draw_ends(model, normal, embedding, norm):
    """Where the embedding is the head as well, it is small and the last norm large: else each token calls itself."""
    tied = model.config.tie_word_embeddings
    embedding.copy_(normal(embedding.shape) * (0.3 if tied else 1.0))
    if tied:
        norm.mul_(2 / (0.3 * math.sqrt(embedding.shape[1])))
    else:
        model.lm_head.weight.copy_(normal(model.lm_head.weight.shape) * 2 / math.sqrt(embedding.shape[1]))


def draw_scan_part(normal, name, value):
    """A Mamba mixer's own tensors; false where the name is none of theirs. States fade within 1 to 100 tokens."""
    part = name.rpartition("mixer." if "mixer." in name else "mamba.")[2]
    if part == "A_log":
        vector(normal, value, -1.5, 1.2)
    elif part == "D":
        vector(normal, value, 0.5, 0.5)
    elif part == "dt_proj.bias":
        vector(normal, value, -1.0, 1.0)
    elif part == "dt_proj.weight":
        matrix(normal, value, 1.0)
    elif part == "conv1d.weight":
        matrix(normal, value, 1.5)
    else:
        return False
    return True


def standard_neutrals(name, value):
    """What a program that leaves a tensor out would use in its place."""
    return [torch.full_like(value, 1.0 if is_norm(name) else 0.0)]


def scan_neutrals(name, value):
    if name.endswith("A_log"):
        usual = torch.arange(1, value.shape[1] + 1, dtype=value.dtype).log().expand_as(value)
        forgetful = torch.full_like(value, 9.0)
        return [torch.zeros_like(value), usual, forgetful]
    if name.endswith(".D"):
        return [torch.zeros_like(value), torch.ones_like(value)]
    return standard_neutrals(name, value)
