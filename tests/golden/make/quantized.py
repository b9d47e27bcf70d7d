"""Weights as quantized folders have them: FP8 in blocks and rows, integers and NVFP4 of compressed-tensors."""
import json
import math

import torch
from safetensors.torch import load_file, save_file

NUMBERS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # of codes 0 to 7; 8 more are their negatives
BLOCK = 128
LARGEST_E4M3 = 448.0
DRAWN = {}  # the parts of each weight that was rounded last, and its value


def fp8_blocks(value):
    rows, columns = (math.ceil(size / BLOCK) for size in value.shape)
    whole = torch.zeros(rows * BLOCK, columns * BLOCK)
    whole[:value.shape[0], :value.shape[1]] = value
    scales = whole.unflatten(0, (rows, BLOCK)).unflatten(2, (columns, BLOCK)).abs().amax((1, 3)) / LARGEST_E4M3
    spread = scales.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)[:value.shape[0], :value.shape[1]]
    codes = (value / spread).to(torch.float8_e4m3fn)
    return {"": codes, "_scale_inv": scales}, codes.float() * spread


def fp8_rows(value):
    scales = (value.abs().amax(1, keepdim=True) / LARGEST_E4M3).bfloat16()
    codes = (value / scales.float()).clamp(-LARGEST_E4M3, LARGEST_E4M3).to(torch.float8_e4m3fn)
    return {"": codes, "_scale": scales}, codes.float() * scales.float()


def words(codes, bits):
    """[rows, codes] to [rows, words] of 32 bits, from low bits on."""
    flags = (codes.unsqueeze(2) >> torch.arange(bits)) & 1
    flags = torch.nn.functional.pad(flags.flatten(1), (0, -codes.shape[1] * bits % 32))
    return (flags.unflatten(1, (-1, 32)) << torch.arange(32)).sum(2).to(torch.int32)


def integers(value, bits, group, symmetric):
    groups = value.unflatten(1, (-1, group or value.shape[1]))
    most = (1 << bits) - 1
    if symmetric:
        scales, zeros = groups.abs().amax(2) / (most // 2), torch.full(groups.shape[:2], (most + 1) // 2)
    else:
        least = groups.amin(2).clamp(max=0)
        scales = (groups.amax(2).clamp(min=0) - least) / most
        zeros = (-least / scales.bfloat16().float()).round().clamp(0, most).long()
    scales = scales.bfloat16()
    codes = ((groups / scales.float().unsqueeze(2)).round().long() + zeros.unsqueeze(2)).clamp(0, most)
    restored = (codes - zeros.unsqueeze(2)).float() * scales.float().unsqueeze(2)
    parts = {"_packed": words(codes.flatten(1), bits), "_scale": scales, "_shape": torch.tensor(value.shape)}
    if not symmetric:
        parts["_zero_point"] = words(zeros.T, bits).T
    return parts, restored.flatten(1)


def int8_rows(value):
    scales = (value.abs().amax(1, keepdim=True) / 127).bfloat16()
    codes = (value / scales.float()).round().clamp(-128, 127).to(torch.int8)
    return {"": codes, "_scale": scales}, codes.float() * scales.float()


def nvfp4(value):
    groups = value.unflatten(1, (-1, 16))
    whole = LARGEST_E4M3 * 6 / value.abs().amax()
    scales = (groups.abs().amax(2) / 6 * whole).clamp(2.0 ** -6, LARGEST_E4M3).to(torch.float8_e4m3fn)
    own = (scales.float() / whole).unsqueeze(2)
    codes = ((groups / own).abs().unsqueeze(3) - NUMBERS).abs().argmin(3) + 8 * (groups < 0)
    restored = NUMBERS[codes % 8] * torch.where(codes < 8, 1.0, -1.0) * own
    codes = codes.flatten(1)
    return {"_packed": (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), "_scale": scales,
            "_global_scale": whole.reshape(1)}, restored.flatten(1)


def compressed(name, value):
    if name.endswith(("up_proj.weight", "gate_proj.weight")):
        return integers(value, 4, 32, symmetric=name.endswith("up_proj.weight"))
    if name.endswith("q_proj.weight"):
        return integers(value, 3, 64, symmetric=False)
    if name.endswith(("o_proj.weight", "v_proj.weight")):
        return integers(value, 8, None, symmetric=name.endswith("o_proj.weight"))
    return int8_rows(value)


# What packs a weight of a module, by the kind of the folder, and the folder's quantization_config.
KINDS = {
    "fp8": (lambda name, value: fp8_blocks(value),
            {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [BLOCK, BLOCK]}),
    "compressed": (compressed, {"quant_method": "compressed-tensors", "format": "mixed-precision"}),
    "nvfp4": (lambda name, value: nvfp4(value) if ".mlp." in name else fp8_rows(value),
              {"quant_method": "compressed-tensors", "format": "mixed-precision"}),
}


def is_packed(name):
    return name.endswith("_proj.weight") and not name.endswith("0.self_attn.k_proj.weight")


def rounded(kind, name, value):
    parts, restored = KINDS[kind][0](name, value.float())
    DRAWN[name] = parts
    return restored


def pack_folder(kind, folder):
    tensors = {}
    for path in folder.glob("*.safetensors"):
        for name, value in load_file(path).items():
            if is_packed(name):
                tensors |= {name + ending: part.contiguous().clone() for ending, part in DRAWN[name].items()}
            else:
                tensors[name] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = KINDS[kind][1]
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
