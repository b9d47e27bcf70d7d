"""Experts as gpt-oss publishes them: OCP Microscaling MXFP4, codes and scales in tensors of their own."""
import json

import torch
from safetensors.torch import load_file, save_file

NUMBERS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # of codes 0 to 7; 8 more are their negatives
GROUP = 32
BIAS = 127
LARGEST_EXPONENT = 2  # of NUMBERS


def is_packed(name):
    return name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def packed(matrices):
    """(blocks [experts, outputs, groups, 16], scales [experts, outputs, groups]) of [experts, inputs, outputs]."""
    groups = matrices.float().transpose(1, 2).unflatten(2, (-1, GROUP))
    exponents = groups.abs().amax(3).log2().floor() - LARGEST_EXPONENT
    scaled = groups / 2 ** exponents.unsqueeze(3)
    codes = (scaled.abs().unsqueeze(4) - NUMBERS).abs().argmin(4) + 8 * (scaled < 0)
    return (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8), (exponents + BIAS).to(torch.uint8)


def unpacked(blocks, scales):
    codes = torch.stack([blocks & 15, blocks >> 4], 4).flatten(3).long()
    numbers = NUMBERS[codes % 8] * torch.where(codes < 8, 1.0, -1.0)
    return (numbers * 2.0 ** (scales.float() - BIAS).unsqueeze(3)).flatten(2).transpose(1, 2).contiguous()


def rounded(matrices):
    return unpacked(*packed(matrices))


def pack_folder(folder):
    tensors = {}
    for name, value in load_file(folder / "model.safetensors").items():
        if is_packed(name):
            tensors[name + "_blocks"], tensors[name + "_scales"] = packed(value)
        else:
            tensors[name] = value
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
                                   "lm_head"],
        "quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
