"""Hashes of how `tokenizers` splits texts for the pre-tokenizers of GGUF files, by the patterns of the models' own files."""

import json

from hashes import hash_lines, texts
from tokenizers import Regex, normalizers, pre_tokenizers

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{CONTRACTION}|{WORD}|\p{{N}}{{1,3}}|{TAIL}"
QWEN2 = rf"{CONTRACTION}|{WORD}|\p{{N}}|{TAIL}"
QWEN35 = (
    rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
CASED_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def cased(end, digits):
    first = rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{end}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{end}"
    return rf"{first}|{digits}|{CASED_TAIL}"


def kimi():
    first = rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{CONTRACTION}?"
    second = rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{CONTRACTION}?"
    return rf"[\p{{Han}}]+|{first}|{second}|\p{{N}}{{1,3}}|{TAIL}"


GPT4O = cased(CONTRACTION + "?", r"\p{N}{1,3}")
PUNCTUATED = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPARK = PUNCTUATED.replace(r"+[\r\n]*|\s*[\r\n]+", r"+|[\r\n]")
KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
ASIAN = (
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
    "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"
)
YOUTU = "[\uac00-\ud7a3\u3131-\u318e]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + KANA
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
JAIS2 = rf"{CONTRACTION}|{WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|" + "".join(
    rf"\s{{{count}}}(?!\S)|" for count in (512, 256, 128, 64, 32, 16, 8, 4)
) + r"\s{1,2}(?!\S)|\s{1}"
LETTERS_OF_DEEPSEEK = (
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅ"
    "Ὀ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄ"
    "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
)
PUNCTUATION_OF_DEEPSEEK = "\\s?[!-/:-~！-／：-～‘-‟　-。]+"
CHAMELEON = ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2]

SPLITS = {
    "gpt-2": [GPT2],
    "starcoder": [r"\p{N}", GPT2],
    "llama-bpe": [LLAMA3],
    "jais-2": [JAIS2],
    "minicpm5": [r"\p{N}{1,3}", LLAMA3.replace("{1,3}", "+")],
    "stablelm2": [QWEN2],
    "qwen35": [QWEN35],
    "laguna": ["[^\\n]+|[\\n]+", QWEN2],
    "ufakzeka": [QWEN2.removeprefix(CONTRACTION + "|")],
    "seed-coder": [QWEN2.replace(r"\p{N}]+[\r\n]*", r"\p{N}\r\n]+").replace(r"\p{N}|", r"\p{N}{1}|")],
    "bailingmoe": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "exaone-moe": [
        rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "tekken": [cased("", r"\p{N}")],
    "gpt-4o": [GPT4O],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O],
    "youtu": [YOUTU, cased(CONTRACTION + "?", r"\p{N}")],
    "kimi-k2": [kimi()],
    "deepseek-llm": [r"[\r\n]", LETTERS_OF_DEEPSEEK, PUNCTUATION_OF_DEEPSEEK, r"\s+$", CJK, r"\p{N}+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", KANA, PUNCTUATED],
    "spark2_5": [r"\p{N}{1,3}", KANA, SPARK, r"\p{N}"],
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", ASIAN, PUNCTUATED],
    "falcon": [r"[\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "chameleon": CHAMELEON,
    "gemma4": ["[^\\n]+|[\\n]+"],
}


def splitter(name):
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in SPLITS[name]]
    normalizer = normalizers.Replace(" ", "▁") if name == "gemma4" else normalizers.Sequence([])
    sequence = pre_tokenizers.Sequence(steps)

    def pieces(text):
        return [piece for piece, _ in sequence.pre_tokenize_str(normalizer.normalize_str(text))] + [""]

    return pieces


def write_splits(path):
    hashes = {name: hash_lines(texts(), splitter(name)).split() for name in SPLITS}
    path.write_text(json.dumps(hashes, indent=1) + "\n")
