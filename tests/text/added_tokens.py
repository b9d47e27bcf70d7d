"""What `tokenizers` makes of texts with added tokens of generated settings."""

import json
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

CONTENTS = ["[R]", "[L]", "  ", " ", "\n", "ab", "a", "b a", "R]", "[R] ", " [", "é", "A", "ß", "_", "\u3000", "]["]
PIECES = [*CONTENTS, "[R]  y", "[R]", "[L]", " ", "  ", "x", "ab", "B", "É", "\t", "[", "]", "1"]
NORMALIZERS = {"": None, "lowercase": normalizers.Lowercase(), "nfkd": normalizers.NFKD()}
FLAGS = ["lstrip", "rstrip", "normalized", "special", "single_word"]
SETTINGS = 120
TEXTS = 10


def bytes_alone():
    """A token for each byte, by its value, as small_spec() of the tests."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    spelling = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    tokenizer = Tokenizer(models.BPE({spelling[byte]: byte for byte in range(256)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def drawn_tokens(draw):
    for content in draw.sample(CONTENTS, draw.randrange(1, 7)):
        flags = [flag for flag in FLAGS if draw.random() < (0.15 if flag == "single_word" else 0.4)]
        yield {"content": content, **dict.fromkeys(flags, True)}


def different(tokens, normalizer):
    """Of tokens that are spelled alike once normalized, `tokenizers` finds any."""
    spelled = normalizer.normalize_str if normalizer else str
    return list({spelled(token["content"]): token for token in tokens}.values())


def setting(draw):
    normalizer = draw.choice(list(NORMALIZERS))
    tokens = different(drawn_tokens(draw), NORMALIZERS[normalizer])
    tokenizer = bytes_alone()
    if NORMALIZERS[normalizer]:
        tokenizer.normalizer = NORMALIZERS[normalizer]
    for token in tokens:
        # An AddedToken is normalized unless it says otherwise.
        tokenizer.add_tokens([AddedToken(**{"normalized": False, **token})])
    cases = [case for case in (encoded(tokenizer, draw) for _ in range(TEXTS)) if case]
    return {"normalizer": normalizer, "added": tokens, "cases": cases}


def encoded(tokenizer, draw):
    """Nothing where `tokenizers` panics: a token that lies in the space an earlier one took, and takes space, too."""
    text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 8)))
    tokenizer.encode_special_tokens = draw.random() < 0.3
    try:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:
        if "bad split" not in str(error):
            raise
        return None
    return {"text": text, "parse_special": not tokenizer.encode_special_tokens, "ids": ids}


def write_added_tokens(path):
    draw = random.Random(31)
    lines = [json.dumps(setting(draw), ensure_ascii=False, separators=(",", ":")) for _ in range(SETTINGS)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
