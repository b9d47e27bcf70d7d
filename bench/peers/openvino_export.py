"""A model as OpenVINO's own files, for families that OpenVINO GenAI does not read from GGUF: Transformers reads a GGUF
file, Optimum exports that, or a Hugging Face folder, and rounds the weights anew."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from transformers import AutoModelForCausalLM, AutoTokenizer


def export(folder, given):
    subprocess.run([pathlib.Path(sys.executable).parent / "optimum-cli", "export", "openvino", "--model", folder,
                    "--task", "text-generation-with-past", "--weight-format", given.to, given.out], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a GGUF file or a Hugging Face folder")
    parser.add_argument("--to", choices=["int8", "int4"], required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    if given.model.is_dir():
        return export(given.model, given)
    with tempfile.TemporaryDirectory(dir=given.out.parent) as folder:
        for kind in (AutoModelForCausalLM, AutoTokenizer):
            kind.from_pretrained(given.model.parent, gguf_file=given.model.name).save_pretrained(folder)
        export(folder, given)


if __name__ == "__main__":
    main()
