#!/usr/bin/env python3
"""Writes the folders of data/quantized/: weights packed by the tools that define their forms, and what these stand for.

Development only: needs torch, transformers, safetensors, bitsandbytes 0.50.2 and compressed-tensors 0.20.1, and the sources of AutoAWQ 0.2.9 and
of GPTQModel 7.7.0, whose packing functions are run alone. Run it as
  python make_quantized.py AUTOAWQ GPTQMODEL
with the folders of both sources. Each folder has config.json, model.safetensors, and truth.safetensors with every weight in
float32.
"""
import ast
import json
import math
import pathlib
import sys
import types
from contextlib import nullcontext

import bitsandbytes.functional
import numpy as np
import torch
import transformers
from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor, pack_to_int32
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file
from torch import nn

DATA = pathlib.Path(__file__).parent / "data" / "quantized"
UP, GATE, DOWN = (f"model.layers.0.mlp.{name}_proj" for name in ("up", "gate", "down"))
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def functions(path, names, namespace):
    """Functions and methods of a source file, without the rest of the file."""
    tree = ast.parse(pathlib.Path(path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and node.name not in namespace:
            node.decorator_list = []
            node.returns = None
            for each in node.args.args + node.args.kwonlyargs:
                each.annotation = None
            exec(compile(ast.Module([node], []), str(path), "exec"), namespace)
    return types.SimpleNamespace(**{name: namespace[name] for name in names})


def write(name, quantization_config, tensors, truth):
    folder = DATA / name
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model_type": "llama", "quantization_config": quantization_config}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    save_file({key: value.contiguous().clone() for key, value in tensors.items()}, folder / "model.safetensors")
    save_file({key: value.float().contiguous().clone() for key, value in truth.items()}, folder / "truth.safetensors")


# Plain torch: FP8

def e4m3_codes(generator, shape):
    codes = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    codes[(codes & 0x7F) == 0x7F] = 0x7E
    return codes.view(torch.float8_e4m3fn)


def scales_like(generator, shape, dtype=torch.float32):
    return (torch.rand(shape, generator=generator) * 0.01 + 0.0001).to(dtype)


def over_blocks(scales, shape):
    return scales.float().repeat_interleave(128, 0)[:shape[0]].repeat_interleave(128, 1)[:, :shape[1]]


def fp8_blocks(name, shapes, dtype, **more):
    generator = torch.Generator().manual_seed(1)
    tensors, truth = {}, {}
    for module, shape in shapes.items():
        codes = e4m3_codes(generator, shape)
        grid = [math.ceil(shape[0] / 128), math.ceil(shape[1] / 128)]
        scales = scales_like(generator, grid, torch.float32)
        if dtype == torch.float8_e8m0fnu:
            scales = 2.0 ** torch.randint(-12, -4, grid, generator=generator).float()
        scales = scales.to(dtype)
        tensors |= {module + ".weight": codes, module + ".weight_scale_inv": scales}
        truth[module + ".weight"] = codes.float() * over_blocks(scales, shape)
    write(name, {"quant_method": "fp8", "weight_block_size": [128, 128], **more}, tensors, truth)


def fp8_tensors():
    generator = torch.Generator().manual_seed(2)
    tensors, truth = {}, {}
    for module, part, shape in ((UP, "weight_scale_inv", []), (GATE, "qscale_weight", []), (DOWN, "weight_scale", [1])):
        codes, scale = e4m3_codes(generator, [40, 160]), scales_like(generator, shape, torch.bfloat16)
        tensors |= {module + ".weight": codes, f"{module}.{part}": scale}
        tensors[module + (".qscale_act" if part == "qscale_weight" else ".activation_scale")] = torch.ones([])
        truth[module + ".weight"] = codes.float() * scale.float()
    write("fp8_tensor", {"quant_method": "fp8", "weight_block_size": None, "activation_scheme": "static"}, tensors, truth)


# compressed-tensors

def scheme_of(**weights):
    return QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**weights))


def integer_module(generator, compressor, shape, dtype, bits, group, symmetric):
    groups = 1 if group < 0 else shape[1] // group
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    codes = torch.randint(least, most + 1, shape, generator=generator)
    scales = scales_like(generator, [shape[0], groups], dtype)
    zeros = torch.zeros(scales.shape, dtype=torch.int8)
    if not symmetric:
        zeros = torch.randint(least, most + 1, scales.shape, generator=generator).to(torch.int8)
    spread = lambda numbers: numbers.repeat_interleave(shape[1] // groups, 1)
    weight = (codes - spread(zeros).int()).float() * spread(scales).float()
    strategy = dict(strategy="channel") if group < 0 else dict(strategy="group", group_size=group)
    scheme = scheme_of(num_bits=bits, type="int", symmetric=symmetric, **strategy)
    state = {"weight": weight, "weight_scale": scales.float(), "weight_zero_point": zeros}
    packed = compressor.compress(state, scheme)
    restored = compressor.decompress(packed, scheme)["weight"]
    assert torch.equal(restored, weight)
    packed["weight_scale"] = scales
    return packed, weight, scheme.weights


def integers(name, format_name, modules):
    generator = torch.Generator().manual_seed(3)
    compressor = NaiveQuantizationCompressor if format_name == "int-quantized" else PackedQuantizationCompressor
    tensors, truth, groups = {}, {}, {}
    for module, settings in modules.items():
        packed, weight, args = integer_module(generator, compressor, **settings)
        tensors |= {f"{module}.{part}": value for part, value in packed.items()}
        truth[module + ".weight"] = weight
        groups["group_" + str(len(groups))] = {"targets": [module], "weights": args.model_dump(mode="json")}
    write(name, {"quant_method": "compressed-tensors", "format": format_name, "config_groups": groups}, tensors, truth)
    return tensors, truth, groups


def packed_in_another_order():
    """As versions before 0.13 wrote actorder "group": a group for each input."""
    generator = torch.Generator().manual_seed(22)
    codes = torch.randint(-8, 8, [40, 192], generator=generator)
    scales = scales_like(generator, [40, 6], torch.bfloat16)
    group_of = (torch.arange(192) // 32)[torch.randperm(192, generator=generator)]
    write("packed_4_32_order", {"quant_method": "compressed-tensors", "format": "pack-quantized"},
          {UP + ".weight_packed": pack_to_int32(codes.to(torch.int8), 4), UP + ".weight_scale": scales,
           UP + ".weight_shape": torch.tensor([40, 192]), UP + ".weight_g_idx": group_of.int()},
          {UP + ".weight": codes.float() * scales[:, group_of].float()})


def mixed():
    tensors, truth, groups = integers("mixed", "pack-quantized", {
        UP: dict(shape=[40, 256], dtype=torch.bfloat16, bits=4, group=128, symmetric=True),
        GATE: dict(shape=[40, 256], dtype=torch.bfloat16, bits=8, group=-1, symmetric=True)})
    generator = torch.Generator().manual_seed(4)
    codes, scales = e4m3_codes(generator, [24, 256]), scales_like(generator, [24, 1], torch.bfloat16)
    tensors |= {DOWN + ".weight": codes, DOWN + ".weight_scale": scales}
    truth[DOWN + ".weight"] = codes.float() * scales.float()
    attention = "model.layers.0.self_attn.k_"
    tensors |= {attention + "scale": torch.ones(1), "model.layers.0.input_layernorm.weight": torch.ones(256)}
    truth["model.layers.0.input_layernorm.weight"] = torch.ones(256)
    write("mixed", {"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": groups}, tensors,
          truth)


def fp8_rows():
    generator = torch.Generator().manual_seed(5)
    scheme = scheme_of(num_bits=8, type="float", symmetric=True, strategy="channel")
    codes, scales = e4m3_codes(generator, [72, 256]), scales_like(generator, [72, 1], torch.bfloat16)
    weight = codes.float() * scales.float()
    packed = NaiveQuantizationCompressor.compress({"weight": weight, "weight_scale": scales.float()}, scheme)
    assert torch.equal(packed["weight"].float(), codes.float())
    write("fp8_row", {"quant_method": "compressed-tensors", "format": "float-quantized"},
          {UP + ".weight": packed["weight"], UP + ".weight_scale": scales}, {UP + ".weight": weight})


def fp8_other_blocks():
    generator = torch.Generator().manual_seed(23)
    tensors, truth, groups = {}, {}, {}
    for module, shape, block in ((UP, [40, 160], [16, 32]), (DOWN, [72, 256], [24, 128])):
        scheme = scheme_of(num_bits=8, type="float", symmetric=True, strategy="block", block_structure=block)
        codes = e4m3_codes(generator, shape)
        scales = scales_like(generator, [math.ceil(size / part) for size, part in zip(shape, block)], torch.bfloat16)
        spread = scales.float().repeat_interleave(block[0], 0)[:shape[0]].repeat_interleave(block[1], 1)[:, :shape[1]]
        tensors |= {module + ".weight": codes, module + ".weight_scale": scales}
        truth[module + ".weight"] = codes.float() * spread
        groups["group_" + str(len(groups))] = {"targets": [module], "weights": scheme.weights.model_dump(mode="json")}
    write("fp8_other_blocks", {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": groups},
          tensors, truth)


def e2m1(generator, shape):
    return E2M1[torch.randint(0, 16, shape, generator=generator)]


def nvfp4():
    generator = torch.Generator().manual_seed(6)
    scheme = scheme_of(num_bits=4, type="float", symmetric=True, strategy="tensor_group", group_size=16)
    scales = (torch.rand([40, 12], generator=generator) * 400 + 1).to(torch.float8_e4m3fn)
    whole = torch.tensor([1234.5])
    weight = e2m1(generator, [40, 192]) * (scales.float() / whole).repeat_interleave(16, 1)
    packed = NVFP4PackedCompressor.compress(
        {"weight": weight, "weight_scale": scales.float(), "weight_global_scale": whole}, scheme)
    restored = NVFP4PackedCompressor.decompress({**packed, "weight_scale": packed["weight_scale"].float()}, scheme)
    assert torch.allclose(restored["weight"].float(), weight, rtol=2.0 ** -8)  # it computes in bfloat16
    tensors = {f"{UP}.{part}": value for part, value in packed.items()}
    tensors[UP + ".input_global_scale"] = torch.ones(1)
    write("nvfp4", {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, tensors,
          {UP + ".weight": weight})


def modelopt():
    generator = torch.Generator().manual_seed(7)
    scales = (torch.rand([40, 12], generator=generator) * 400 + 1).to(torch.float8_e4m3fn)
    codes = torch.randint(0, 16, [40, 192], generator=generator, dtype=torch.uint8)
    second = torch.tensor(0.00037)
    tensors = {UP + ".weight": codes[:, ::2] | codes[:, 1::2] << 4, UP + ".weight_scale": scales,
               UP + ".weight_scale_2": second, UP + ".input_scale": torch.tensor(1.0)}
    weight = E2M1[codes.long()] * scales.float().repeat_interleave(16, 1) * second
    write("nvfp4_modelopt", {"quant_method": "modelopt", "quant_algo": "NVFP4"}, tensors, {UP + ".weight": weight})


def mxfp4():
    generator = torch.Generator().manual_seed(8)
    scheme = scheme_of(num_bits=4, type="float", symmetric=True, strategy="group", group_size=32, scale_dtype=torch.uint8)
    scales = 2.0 ** torch.randint(-10, 3, [40, 6], generator=generator).float()
    weight = e2m1(generator, [40, 192]) * scales.repeat_interleave(32, 1)
    packed = MXFP4PackedCompressor.compress({"weight": weight, "weight_scale": scales}, scheme)
    restored = MXFP4PackedCompressor.decompress(dict(packed), scheme)["weight"]
    assert torch.equal(restored.float(), weight)
    quark = "model.layers.0.mlp.down_proj"
    tensors = {UP + ".weight_packed": packed["weight_packed"], UP + ".weight_scale": packed["weight_scale"],
               quark + ".weight": packed["weight_packed"], quark + ".weight_scale": packed["weight_scale"]}
    write("mxfp4", {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"}, tensors,
          {UP + ".weight": weight, quark + ".weight": weight})


# AutoAWQ

def awq(source, name, group):
    files = pathlib.Path(source) / "awq"
    namespace = dict(torch=torch, get_best_device=lambda: "cpu")
    gemm = functions(files / "modules/linear/gemm.py", ["from_linear"], namespace)
    packing = dict(torch=torch, AWQ_REVERSE_ORDER=[0, 4, 1, 5, 2, 6, 3, 7])
    unpacking = functions(files / "utils/packing_utils.py", ["unpack_awq", "reverse_awq_order", "dequantize_gemm"], packing)
    generator = torch.Generator().manual_seed(9)
    outputs, inputs = 96, 192
    width = inputs if group < 0 else group
    codes = torch.randint(0, 16, [outputs, inputs], generator=generator)
    zeros = torch.randint(0, 16, [inputs // width, outputs], generator=generator)
    scales = scales_like(generator, zeros.shape, torch.float16)
    weight = (codes - zeros.T.repeat_interleave(width, 1)).float() * scales.T.float().repeat_interleave(width, 1)
    linear = types.SimpleNamespace(in_features=inputs, out_features=outputs, bias=None, weight=weight)
    linear.weight = types.SimpleNamespace(data=weight, device="cpu")
    make = lambda bits, size, *_: types.SimpleNamespace(w_bit=bits, group_size=size, in_features=inputs)
    packed = gemm.from_linear(make, linear, 4, width, scales=scales.float(), zeros=zeros.float())
    restored = unpacking.dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, width).T
    assert torch.equal(restored, weight)
    write(name, {"quant_method": "awq", "version": "gemm", "bits": 4, "group_size": group, "zero_point": True},
          {f"{UP}.{part}": getattr(packed, part) for part in ("qweight", "qzeros", "scales")}, {UP + ".weight": weight})


# GPTQModel

def gptq(source, name, bits, group, symmetric=False, v2=False, order=None, index=True):
    files = pathlib.Path(source) / "gptqmodel"
    log = types.SimpleNamespace(info=types.SimpleNamespace(once=lambda text: None))
    packing = dict(t=torch, np=np, math=math, nn=nn, transformers=transformers, _ConvNd=torch.nn.modules.conv._ConvNd,
                   THREADPOOLCTL=types.SimpleNamespace(threadpool_limits=lambda count: nullcontext()))
    pack = functions(files / "nn_modules/qlinear/__init__.py", ["pack_original"], packing)
    shifting = ["unpack_cols", "pack_cols", "_require_int32_words_for_3bit", "_unpack_cols_3bit", "_pack_cols_3bit",
                "_shift_gptq_qzeros", "_revert_gptq_v1_qzeros_correction"]
    correcting = functions(files / "utils/model_dequant.py", shifting, dict(torch=torch, math=math))
    converting = dict(torch=torch, log=log, BaseQuantLinear=object,
                      _revert_gptq_v1_qzeros_correction=correcting._revert_gptq_v1_qzeros_correction)
    convert = functions(files / "utils/model.py", ["convert_gptq_v2_to_v1_format_module"], converting)
    generator = torch.Generator().manual_seed(10 + bits)
    outputs, inputs = 96, 192
    width = inputs if group < 0 else group
    groups, middle, most = inputs // width, 1 << (bits - 1), (1 << bits) - 1
    codes = torch.randint(0, most + 1, [outputs, inputs], generator=generator)
    zeros = torch.randint(0, most + 1, [outputs, groups], generator=generator)
    if symmetric:
        zeros[:] = middle
    scales = scales_like(generator, zeros.shape, torch.float16)
    group_of = torch.arange(inputs) // width
    if order is not None:
        group_of = group_of[torch.randperm(inputs, generator=generator)] if order == "random" else order(group_of)
    weight = (codes - zeros[:, group_of]).float() * scales[:, group_of].float()
    module = nn.Module()
    module.bits, module.maxq, module.pack_dtype_bits, module.pack_factor = bits, most, 32, 32 // bits
    module.pack_np_math_dtype, module.pack_np_dtype, module.planar, module.pack_dtype = np.uint32, np.int32, False, torch.int32
    module.qzero_format = lambda format: None
    module.bias = None
    linear = types.SimpleNamespace(weight=types.SimpleNamespace(data=weight), bias=None)
    pack.pack_original(module, linear, scales.float(), zeros, group_of.int())
    if not v2:
        convert.convert_gptq_v2_to_v1_format_module(module, types.SimpleNamespace(bits=bits, pack_dtype=torch.int32))
    parts = ("qweight", "qzeros", "scales") + (("g_idx",) if index else ())
    write(name, {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": symmetric,
                 "desc_act": order is not None, "checkpoint_format": "gptq_v2" if v2 else "gptq"},
          {f"{UP}.{part}": getattr(module, part) for part in parts}, {UP + ".weight": weight})


# bitsandbytes

def four_bits(name, kind, shapes, nested, blocksize=64):
    generator = torch.Generator().manual_seed(20)
    tensors, truth = {}, {}
    for module, shape in shapes.items():
        packed, state = bitsandbytes.functional.quantize_4bit(
            torch.randn(shape, generator=generator), quant_type=kind, blocksize=blocksize, compress_statistics=nested)
        tensors[module + ".weight"] = packed
        tensors |= {f"{module}.weight.{part}": value for part, value in state.as_dict(packed=True).items()}
        restored = bitsandbytes.functional.dequantize_4bit(packed, state)
        truth[module + ".weight"] = restored + 0.0  # it makes -0 of code 8 of FP4, whose number in the table is 0
    write(name, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
                 "bnb_4bit_use_double_quant": nested, "bnb_4bit_quant_storage": "uint8"}, tensors, truth)


def eight_bits():
    generator = torch.Generator().manual_seed(21)
    codes, maxima, _ = bitsandbytes.functional.int8_vectorwise_quant(torch.randn([40, 192], generator=generator).half())
    weight = codes.float() * (maxima.float() * torch.tensor(1 / 127)).unsqueeze(1)
    restored = bitsandbytes.functional.int8_vectorwise_dequant(codes, maxima)
    assert torch.allclose(restored.float(), weight, rtol=1e-6)  # it multiplies in another order
    write("bitsandbytes_8", {"quant_method": "bitsandbytes", "load_in_8bit": True},
          {UP + ".weight": codes, UP + ".SCB": maxima.float(), UP + ".weight_format": torch.tensor(0, dtype=torch.uint8)},
          {UP + ".weight": weight})


def main(autoawq, gptqmodel):
    four_bits("bitsandbytes_nf4", "nf4", {UP: [40, 192], DOWN: [33, 31]}, False)
    four_bits("bitsandbytes_nf4_nested", "nf4", {UP: [200, 192]}, True)
    four_bits("bitsandbytes_fp4", "fp4", {UP: [40, 192]}, True, 128)
    eight_bits()
    fp8_blocks("fp8_block", {UP: [200, 320], DOWN: [136, 256]}, torch.float32)
    fp8_blocks("fp8_block_e8m0", {UP: [130, 256]}, torch.float8_e8m0fnu, scale_fmt="ue8m0")
    fp8_other_blocks()
    fp8_rows()
    fp8_tensors()
    both = lambda **more: {UP: dict(shape=[40, 192], **more)}
    integers("int8", "int-quantized", both(dtype=torch.bfloat16, bits=8, group=-1, symmetric=True))
    integers("int8_zeros", "int-quantized", both(dtype=torch.float32, bits=8, group=-1, symmetric=False))
    integers("packed_4_32", "pack-quantized", both(dtype=torch.bfloat16, bits=4, group=32, symmetric=True))
    integers("packed_4_64_zeros", "pack-quantized", both(dtype=torch.bfloat16, bits=4, group=64, symmetric=False))
    integers("packed_4_row", "pack-quantized", both(dtype=torch.float32, bits=4, group=-1, symmetric=True))
    integers("packed_8_32_zeros", "pack-quantized", both(dtype=torch.float16, bits=8, group=32, symmetric=False))
    integers("packed_3_96_zeros", "pack-quantized", both(dtype=torch.bfloat16, bits=3, group=96, symmetric=False))
    packed_in_another_order()
    mixed()
    nvfp4()
    modelopt()
    mxfp4()
    awq(autoawq, "awq_64", 64)
    awq(autoawq, "awq_row", -1)
    gptq(gptqmodel, "gptq_4_64", 4, 64)
    gptq(gptqmodel, "gptq_4_32_symmetric", 4, 32, symmetric=True)
    gptq(gptqmodel, "gptq_2_32_v2", 2, 32, v2=True, index=False)
    gptq(gptqmodel, "gptq_3_64", 3, 64)
    gptq(gptqmodel, "gptq_8_row", 8, -1)
    gptq(gptqmodel, "gptq_4_64_desc_act", 4, 64, order="random")


if __name__ == "__main__":
    main(*sys.argv[1:])
