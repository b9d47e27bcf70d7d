"""Writes the reference files of tests/text. Development only: needs tokenizers 0.23, sentencepiece
0.2 and protobuf; for chats transformers 5.23 and jinja2, and for the default model gguf.

usage: make.py [tokenizers] [GGUF of the default model]
"""

import sys
from pathlib import Path

from added_tokens import write_added_tokens
from hashes import write_texts
from make_splits import write_splits
from make_tokenizers import write_default_model, write_tokenizers
from make_vocabularies import write_vocabularies

HERE = Path(__file__).parent


def main():
    arguments = sys.argv[1:]
    write_texts(HERE / "texts.json")
    write_tokenizers(HERE / "tokenizers")
    write_added_tokens(HERE / "added_tokens.json")
    write_splits(HERE / "splits.json")
    write_vocabularies(HERE / "vocabularies")
    if arguments == ["tokenizers"]:
        return
    from make_chats import write_chats

    write_chats(HERE)
    for gguf in arguments:
        write_default_model(Path(gguf), HERE / "smollm2.jsonl")


if __name__ == "__main__":
    main()
