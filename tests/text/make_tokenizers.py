"""Trains tiny tokenizers of several kinds and writes what `tokenizers` makes of many strings."""

import json

from hashes import hash_lines, texts
from piece_tokenizers import PIECE_KINDS
from strings import CODE, LANGUAGES, strings
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
OTHER = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\w+(?=\d)|\d{1,2}"
    r"|[^\S\r\n]+$|[\u4e00-\u9fff]+|[^\s\w]+|\s"
)


def byte_level(pattern=None, behavior="isolated", **options):
    level = pre_tokenizers.ByteLevel(add_prefix_space=options.get("add_prefix_space", False), use_regex=pattern is None)
    if pattern is None:
        return level
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior), level])


def trained(tokenizer, size, alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=list(alphabet), show_progress=False)
    tokenizer.train_from_iterator([*LANGUAGES.values(), *CODE] * 3, trainer)
    return tokenizer


def bytes_trained(pre_tokenizer, size=420, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    return trained(tokenizer, size, pre_tokenizers.ByteLevel.alphabet())


def edited(tokenizer, edit):
    content = json.loads(tokenizer.to_str())
    edit(content)
    return Tokenizer.from_str(json.dumps(content))


def gpt2():
    tokenizer = bytes_trained(byte_level(add_prefix_space=True))
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", normalized=False)])
    return tokenizer, ["<|endoftext|>", "<|endoftext", "<|endoftext|><|endoftext|>"]


def llama3():
    tokenizer = edited(bytes_trained(byte_level(LLAMA3)), lambda c: c["model"].update(ignore_merges=True))
    tokenizer.add_special_tokens([AddedToken(t, normalized=False) for t in ["<|begin_of_text|>", "<|eot_id|>", "<|eot_id|>!"]])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)]
    )
    return tokenizer, ["<|begin_of_text|>", "<|eot_id|>!", "<|eot_id|>?", "<|eot_", "x<|eot_id|>y"]


def qwen2():
    tokenizer = bytes_trained(byte_level(QWEN2), normalizer=normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken("<|im_end|>", normalized=False)])
    tokenizer.add_tokens(
        [
            AddedToken("<tool_call>", normalized=False),
            AddedToken("[L]", lstrip=True, normalized=False),
            AddedToken("[R]", rstrip=True, normalized=False),
            AddedToken("[B]", lstrip=True, rstrip=True, normalized=False),
            AddedToken("word", single_word=True, normalized=False),
            AddedToken("caf\u00e9", normalized=True),
        ]
    )
    special = ["<|im_end|>", "<tool_call>", " [L] x", "x  \n[L][L]", "[R]  y", " [B] \t[B]\u3000", "word", "words", "a word.", "_word", "é word é", "cafe\u0301", "café", "[R] [L]"]
    return tokenizer, special


def digits():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), byte_level()])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer = trained(tokenizer, 300)
    tokenizer.add_special_tokens(["<unk>"])
    tokenizer = edited(tokenizer, lambda c: c["model"]["vocab"].update({"<unk>": tokenizer.token_to_id("<unk>")}))
    return tokenizer, ["<unk>", "12ab34", "١٢ab½²"]


def merged(behavior):
    tokenizer = bytes_trained(byte_level(OTHER, behavior), size=330, normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]))
    tokenizer.add_tokens([AddedToken("ABC", normalized=True)])
    return tokenizer, ["ABC", "abc", "xABCx"]


def sentence_pieces():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.Metaspace()
    model = json.loads(trained(words, 420).to_str())["model"]
    spellings = ["<unk>", "<s>", *[f"<0x{byte:02X}>" for byte in range(0xF0)], *model["vocab"]]

    def fill(content):
        content["model"].update(vocab={s: i for i, s in enumerate(spellings)}, merges=model["merges"])

    tokenizer = edited(tokenizer, fill)
    tokenizer.add_special_tokens(["<unk>", "<s>"])
    return tokenizer, ["<s>", "<s> a", "a<s>b", "<0x41>", "▁", " ▁ "]


def metaspace():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer = trained(tokenizer, 300)
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    tokenizer = edited(tokenizer, lambda c: c["model"]["vocab"].update({"<unk>": tokenizer.token_to_id("<unk>")}))
    return tokenizer, ["</s>", "</s> a", "a</s>b"]


KINDS = {
    "gpt2": gpt2,
    "llama3": llama3,
    "qwen2": qwen2,
    "digits": digits,
    "merged_with_next": lambda: merged("merged_with_next"),
    "merged_with_previous": lambda: merged("merged_with_previous"),
    "contiguous": lambda: merged("contiguous"),
    "removed": lambda: merged("removed"),
    "sentence_pieces": sentence_pieces,
    "metaspace": metaspace,
    **PIECE_KINDS,
}


def line(tokenizer, text, add_special, parse_special):
    tokenizer.encode_special_tokens = not parse_special
    ids = tokenizer.encode(text, add_special_tokens=add_special).ids
    entry = {"text": text, "ids": ids}
    if "caf" not in text:  # decoded by way of its bytes, as which an added token was never spelled
        entry["decoded"] = tokenizer.decode(ids, skip_special_tokens=False)
    if add_special:
        entry["add_special"] = True
    if not parse_special:
        entry["parse_special"] = False
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def write_tokenizers(folder):
    for seed, (name, make) in enumerate(KINDS.items()):
        tokenizer, special = make()
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "tokenizer.json").write_text(tokenizer.to_str())
        lines = [line(tokenizer, text, False, True) for text in strings(290, special, seed)[150:]]
        # In `tokenizers` a Unigram model finds control tokens in any text; here they are permitted or nowhere.
        parses = (True,) if name.startswith("unigram") else (False, True)
        lines += [line(tokenizer, text, add, parse) for text in special for add in (False, True) for parse in parses]
        (folder / name / "strings.jsonl").write_text("\n".join(lines) + "\n")
        write_hashes(folder / name / "hashes.txt", tokenizer)


def write_hashes(path, tokenizer):
    """Of the tokens of many texts. Of decoded texts, too, unless an added token is normalized: see line()."""
    tokenizer.encode_special_tokens = False

    def parts(text):
        ids = tokenizer.encode(text, add_special_tokens=True).ids
        yield " ".join(map(str, ids))
        yield tokenizer.decode(ids, skip_special_tokens=True)

    path.write_text(hash_lines(texts(), parts))


def default_tokenizer(gguf):
    """From vocabulary and merges: saved and loaded again, Transformers' own conversion loses the spaces."""
    from gguf import GGUFReader

    fields = GGUFReader(gguf).fields
    tokens, types, merges = (fields["tokenizer.ggml." + key].contents() for key in ("tokens", "token_type", "merges"))
    unknown = tokens[fields["tokenizer.ggml.unknown_token_id"].contents()]
    vocabulary = {spelling: i for i, spelling in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges], unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()])
    tokenizer.decoder = decoders.ByteLevel()
    special = [spelling for spelling, kind in zip(tokens, types) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(spelling, normalized=False) for spelling in special])
    return tokenizer, special


def write_default_model(gguf, path):
    tokenizer, special = default_tokenizer(gguf)
    near = [*special, "<|im_start|>user\nHi<|im_end|>", "<|im_start", "|im_end|>", "< |im_end|>"]
    with path.open("w") as out:
        for text in strings(5200, near, seed=7):
            entry = {"text": text, "ids": tokenizer.encode(text).ids}
            out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
