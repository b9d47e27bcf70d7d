#!/usr/bin/env python3
"""Writes the reference outputs ("goldens") that golden_check compares cogen with. Development only.

  python3 -m venv ref && ref/bin/pip install torch==2.11.0 transformers==5.24.0 safetensors gguf
  ref/bin/python tests/golden/make tiny NAME...        tests/golden/NAME/: small random models and their outputs
  ref/bin/python tests/golden/make check [NAME...]     loads folders afresh and compares with what is written there
  ref/bin/python tests/golden/make beams [NAME...]     tests/decoding/beam_searches.json: what beam searches find
  ref/bin/python tests/golden/make variants            tests/golden/config_variants.json: other spellings of config.json
  ref/bin/python tests/golden/make types               tests/golden/model_types.json: what Transformers knows
  ref/bin/python tests/golden/make sizes [NAME...]     build/variant-goldens/NAME--ENTRY-VALUE: goldens of other sizes
  ref/bin/python tests/golden/make guided              tests/decoding/guided.json: continuations with guidance
  ref/bin/python tests/golden/make default MODEL.gguf  tests/golden/default_model.json: what a real model continues

A random model is drawn again, with the next seed, until it is worth comparing with: every greedy choice is clear of
rounding noise, the continuation does not circle, and every tensor and every setting moves the logits. A family is one
file here: its shapes, its draw, and what to change to see that a setting counts.
tests/golden/README.md describes the files.
"""
import argparse
import pathlib
import sys

import alibi
import bamba
import bart
import beam_searches
import cohere
import config_variants
import default_model
import embedder
import exaone4
import falcon
import falcon_h1
import folder
import gemma
import gemma3
import gemma3n
import gemma4
import glm
import gpt
import granite
import granite_hybrid
import guided
import hybrid_moe
import jamba
import latent
import lfm2
import llama
import llama4
import m2m_100
import mamba
import mamba2
import ministral
import mistral
import model_types
import moe
import mtp
import near_llama
import nemotron_h
import olmo
import opt
import pegasus
import phi
import phimoe
import qwen
import qwen3_5
import rwkv
import sizes
import smollm3
import t5
import torch
import transformers
import with_layer_norm
import zamba2

HERE = pathlib.Path(__file__).parent.parent
DECODING = HERE.parent / "decoding"
DECODERS = (
    qwen, gemma, gemma3n, gemma4, phi, olmo, granite, smollm3, cohere, glm, exaone4, ministral, near_llama, with_layer_norm, gpt, opt,
    falcon, alibi, moe, lfm2, qwen3_5, granite_hybrid, falcon_h1, hybrid_moe, nemotron_h, bamba, latent, t5,
    llama4, phimoe, zamba2)
FAMILIES = {name: family
            for family in (llama, mistral, gemma3, mamba, mamba2, rwkv, jamba, bart, pegasus, m2m_100,
                           *(f for d in DECODERS for f in d.FAMILIES))
            for name in family.MODELS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path, default=HERE, help="where the folders are, instead of here")
    commands = parser.add_subparsers(dest="command", required=True)
    tiny = [*FAMILIES, *embedder.MODELS, *mtp.MODELS]
    commands.add_parser("tiny").add_argument("names", nargs="+", choices=tiny, metavar="NAME")
    commands.add_parser("check").add_argument("names", nargs="*", metavar="NAME")
    commands.add_parser("beams").add_argument("names", nargs="*", metavar="NAME")
    commands.add_parser("variants")
    commands.add_parser("types")
    command = commands.add_parser("sizes")
    command.add_argument("--kind", action="append", help="only variants whose name has this in it")
    command.add_argument("--processes", type=int, default=1)
    command.add_argument("--block", type=int, default=32, help="the whole blocks of NAME--blocks")
    command.add_argument("names", nargs="*", metavar="NAME")
    commands.add_parser("guided")
    commands.add_parser("default").add_argument("model", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if arguments.command == "default":
        default_model.make(arguments.model, arguments.into / "default_model.json")
    elif arguments.command == "beams":
        beam_searches.make(FAMILIES, arguments.names or list(FAMILIES), arguments.into, DECODING / "beam_searches.json")
    elif arguments.command == "variants":
        config_variants.make(arguments.into, HERE.parent.parent / "lib/network/models/families.def")
    elif arguments.command == "types":
        model_types.make(arguments.into / "model_types.json")
    elif arguments.command == "sizes":
        into = arguments.into if arguments.into != HERE else HERE.parent.parent / "build" / "variant-goldens"
        sizes.make(FAMILIES, arguments.names or [*FAMILIES, *embedder.MODELS], into, arguments.kind, arguments.processes,
                   arguments.block)
    elif arguments.command == "guided":
        guided.make(FAMILIES, arguments.into, DECODING / "guided.json")
    elif arguments.command == "tiny":
        for name in arguments.names:
            if name in embedder.MODELS:
                embedder.make(name, arguments.into / name)
            elif name in mtp.MODELS:
                mtp.make(FAMILIES, name, HERE, arguments.into / name)
            else:
                folder.make(FAMILIES[name], name, arguments.into / name)
    else:
        passed = [folder.check(FAMILIES[name], name, arguments.into / name) for name in arguments.names or FAMILIES]
        return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
