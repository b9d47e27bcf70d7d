"""Writes what llama.cpp continues prompts of a real model with, greedily, for golden_check. Development only.

  python3 -m venv peer && peer/bin/pip install llama-cpp-python==0.3.36 numpy
  peer/bin/python tests/golden/make/llama_cpp_continuations.py MODEL.gguf tests/golden/gemma3_270m.json
  peer/bin/python tests/golden/make/llama_cpp_continuations.py --float32 MODEL.gguf tests/golden/gemma3_270m_float32.json

llama.cpp rounds activations to 8 bits before it multiplies them by quantized weights. With --float32 it reads the same
weights as float32 numbers instead, and keeps keys and values in float32: what is left is the order of its sums.
"""
import argparse
import ctypes
import json
import pathlib
import tempfile

import llama_cpp
import numpy

LICENSE = pathlib.Path(__file__).parents[3] / "LICENSE"
PROMPTS = [
    "2, 4, 6, 8, 10,", "The quick brown fox", "Здравствуйте,", "for i in range(10):\n    print(",
    LICENSE.read_text(encoding="utf-8")[:3000].strip(),  # longer than the window of 512 tokens
]
TOP = 2
NEW_TOKENS = 200
F32 = 0  # LLAMA_FTYPE_ALL_F32, GGML_TYPE_F32


def write_float32(path, target):
    params = llama_cpp.llama_model_quantize_default_params()
    params.allow_requantize, params.ftype = True, F32
    if llama_cpp.llama_model_quantize(str(path).encode(), str(target).encode(), ctypes.byref(params)) != 0:
        raise RuntimeError(f"{path} could not be written as float32")


def load(path, **options):
    return llama_cpp.Llama(str(path), n_ctx=1024, verbose=False, **options)


def logits_after(model, ids):
    model.eval(ids)
    row = llama_cpp.llama_get_logits_ith(model.ctx, -1)
    return numpy.ctypeslib.as_array(row, shape=(model.n_vocab(),)).copy()


def continuation_of(model, text):
    model.reset()
    ids = model.tokenize(text.encode(), special=False)
    found = {"text": text, "ids": ids, "gen_ids": [], "top_ids": [], "top_logits": []}
    row = logits_after(model, ids)
    while len(found["gen_ids"]) < NEW_TOKENS:
        best = numpy.argsort(-row)[:TOP]
        found["gen_ids"].append(int(best[0]))
        found["top_ids"].append(best.tolist())
        found["top_logits"].append([round(float(row[each]), 3) for each in best])
        row = logits_after(model, found["gen_ids"][-1:])
    return found


def continuations(path, in_float32):
    if not in_float32:
        model = load(path)
        return [continuation_of(model, text) for text in PROMPTS]
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / path.name
        write_float32(path, written)
        model = load(written, type_k=F32, type_v=F32)
        return [continuation_of(model, text) for text in PROMPTS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    given = parser.parse_args()
    prompts = continuations(given.model, given.float32)
    for prompt in prompts:
        narrowest = min(row[0] - row[1] for row in prompt["top_logits"])
        print(f"{narrowest:.3f} {prompt['text'][:60]!r}, {len(prompt['ids'])} tokens")
    head = json.dumps({"model": given.model.name, "llama-cpp-python": llama_cpp.__version__, "float32": given.float32,
                       "top": TOP})
    lines = ",\n".join(json.dumps(prompt, separators=(",", ":"), ensure_ascii=False) for prompt in prompts)
    given.target.write_text(f'{head[:-1]}, "prompts": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
