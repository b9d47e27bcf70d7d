"""RWKV 4: each channel is an average over all tokens, whose weights decay, and nothing else looks back but one token."""
from decoder import draw_ends, draw_part
from draws import is_norm, matrix, vector
import torch
from transformers import RwkvConfig, RwkvForCausalLM, RwkvModel

ARCHITECTURE = RwkvForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
SHORT = [dict(tokens=5, new=6, uncached=True), dict(tokens=17, new=30, uncached=True)]

SHARED = dict(layer_norm_epsilon=0.02, bos_token_id=0, eos_token_id=0)

MODELS = {
    "rwkv_published": dict(
        published=True, dtype="bfloat16", vocab_size=128, hidden_size=26, num_hidden_layers=3, rescale_every=2),
    "rwkv_wide": dict(
        dtype="bfloat16", prompts=SHORT, vocab_size=151, hidden_size=22, attention_hidden_size=35,
        intermediate_size=51, num_hidden_layers=2, rescale_every=1),
}

forward = RwkvModel.forward


def forward_with_the_same_weights(self, *arguments, **others):
    """Transformers divides weights in place when it first computes. Here they are what the file has again."""
    result = forward(self, *arguments, **others)
    if self.layers_are_rescaled:
        self.train()
        self._rescale_layers()
        self.eval()
    return result


RwkvModel.forward = forward_with_the_same_weights


def configuration(settings):
    return RwkvConfig(**{**SHARED, **settings})


def is_rwkv_norm(name):
    return is_norm(name) or (name.endswith("weight") and ".ln" in name)


def draw(model, normal):
    """Weights fade within 1 to 100 tokens. Hidden states are small, so that epsilons count."""
    for name, value in model.named_parameters():
        part = name.rpartition(".")[2]
        if part == "time_decay":
            vector(normal, value, -1.5, 1.2)
        elif part == "time_first":
            vector(normal, value, 0.5, 0.8)
        elif part.startswith("time_mix"):
            vector(normal, value, 0.5, 0.3)
        elif name.endswith("pre_ln.weight"):
            vector(normal, value, 0.15, 0.05)
        elif name.endswith("pre_ln.bias"):
            vector(normal, value, 0.0, 0.05)
        elif name.endswith(("output.weight", "feed_forward.value.weight")):
            matrix(normal, value, 0.25)
        elif name.endswith("attention.key.weight"):
            matrix(normal, value, 1.7)
        elif is_rwkv_norm(name):
            vector(normal, value, 1.0)
        else:
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal)


def neutrals(name, value):
    part = name.rpartition(".")[2]
    if part == "time_decay":
        return [torch.zeros_like(value), torch.full_like(value, -9.0), torch.full_like(value, 9.0)]
    if part.startswith("time_mix"):
        return [torch.zeros_like(value), torch.full_like(value, 0.5), torch.ones_like(value)]
    return [torch.full_like(value, 1.0 if is_rwkv_norm(name) else 0.0)]


def changes(settings):
    yield "layer_norm_epsilon", {**settings, "layer_norm_epsilon": 1e-5}
    yield "rescale_every 0", {**settings, "rescale_every": 0}
    yield "rescale_every", {**settings, "rescale_every": settings["rescale_every"] + 1}


def publish(config, settings):
    """Without the widths, which follow from the hidden size."""
    del config["attention_hidden_size"], config["intermediate_size"]
