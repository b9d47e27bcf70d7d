"""Hashes of what a reference makes of 2,000 texts, one for each 20 of them."""

import json

from strings import strings

COUNT = 2000
BLOCK = 20
SPECIAL = ["<s>", "</s>", "<unk>", "[CLS]", "[UNK]", "[L]", "▁", "<0x41>", "##a", "<|im_end|>", " 's", "12345", "I'LL"]


def texts():
    return strings(COUNT, SPECIAL, seed=23)


def write_texts(path):
    path.write_text(json.dumps(texts(), ensure_ascii=False, separators=(",\n", ":")) + "\n")


def fnv1a(data, state):
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def hash_lines(texts, parts):
    """FNV-1a over the parts of each text, with a byte after each that no UTF-8 has."""
    lines = []
    for begin in range(0, len(texts), BLOCK):
        state = 0xCBF29CE484222325
        for text in texts[begin : begin + BLOCK]:
            for part in parts(text):
                state = fnv1a(part.encode() + b"\xff", state)
        lines.append(f"{state >> 32:08x}")
    return "\n".join(lines) + "\n"
