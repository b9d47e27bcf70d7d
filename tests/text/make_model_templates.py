"""Writes hashes of what Transformers makes of the chat templates of real models, which scripts/vocabularies fetches.
Development only: needs transformers 5.23 and jinja2.

usage: make_model_templates.py FOLDER
"""

import json
import sys
from pathlib import Path

from chats import CHATS, SETTINGS
from hashes import hash_lines
from make_chats import rendered, variables_of

HERE = Path(__file__).parent


def hash_of_all_settings(source, messages):
    """One hash, in which an error counts as a word."""
    results = [rendered(source, variables_of(messages, setting)).get("text", "refused") for setting in SETTINGS.values()]
    return hash_lines([messages], lambda _: results).strip()


def main():
    hashes = {
        path.stem: {chat: hash_of_all_settings(path.read_text(), messages) for chat, messages in CHATS.items()}
        for path in sorted(Path(sys.argv[1]).glob("*.jinja"))
    }
    lines = [f"{json.dumps(name)}: {json.dumps(of_chats)}" for name, of_chats in hashes.items()]
    (HERE / "model_templates.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
