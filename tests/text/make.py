"""Writes the reference files of tests/text. Development only: needs transformers 5.23, tokenizers 0.23, jinja2 and gguf.

usage: make.py [GGUF of the default model]
"""

import sys
from pathlib import Path

from make_chats import write_chats
from make_tokenizers import write_default_model, write_tokenizers

HERE = Path(__file__).parent


def main():
    write_tokenizers(HERE / "tokenizers")
    write_chats(HERE)
    if len(sys.argv) > 1:
        write_default_model(Path(sys.argv[1]), HERE / "smollm2.jsonl")


if __name__ == "__main__":
    main()
