"""Tiny Unigram and WordPiece tokenizers, and BPE ones with the steps that these models bring along."""

import json

from charsmaps import SEEN, charsmap
from strings import CODE, LANGUAGES
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers


def trained(tokenizer, trainer):
    """The other languages remain unknown to it."""
    tokenizer.train_from_iterator([*(LANGUAGES[name] for name in SEEN), *CODE] * 3, trainer)
    return tokenizer


def edited(tokenizer, edit):
    content = json.loads(tokenizer.to_str())
    edit(content)
    return Tokenizer.from_str(json.dumps(content))


def unigram_trainer(size, special=("<s>", "</s>", "<unk>")):
    return trainers.UnigramTrainer(vocab_size=size, special_tokens=list(special), unk_token="<unk>", show_progress=False)


def surrounded(tokenizer, begin, end):
    ids = [(text, tokenizer.token_to_id(text)) for text in (begin, end)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}", special_tokens=ids)
    return tokenizer


def unigram():
    """As T5 and XLM-RoBERTa: words that begin with U+2581."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer = surrounded(trained(tokenizer, unigram_trainer(420)), "<s>", "</s>")
    return tokenizer, ["<s>", "</s> a", "a<unk>b", "<unk"]


def unigram_charsmap():
    """SentencePiece's precompiled normalizer, over graphemes."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer = trained(tokenizer, unigram_trainer(300))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap()), normalizers.Strip(left=False)])
    return tokenizer, ["<s>a", "ﬁn ﬀ", "Ａ１", "a\r\nb", "\u0301", "e\u0301\u0323", "ﬁ\u0301", "か\u3099"]


def unigram_bytes():
    """Characters that the vocabulary lacks are spelled as bytes."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = trained(tokenizer, unigram_trainer(260))

    def add_bytes(content):
        vocabulary = content["model"]["vocab"]
        vocabulary += [[f"<0x{byte:02X}>", 0.0] for byte in range(256)]
        vocabulary[:] = [piece for piece in vocabulary if piece[0] not in ("漢", "я", "é")]
        content["model"]["byte_fallback"] = True

    tokenizer = edited(tokenizer, add_bytes)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer, ["漢漢字", "яé", "<s>"]


def word_piece_trainer(size):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)


def word_piece():
    """As BERT: lower case without accents."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=24))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer = trained(tokenizer, word_piece_trainer(420))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer, ["[CLS]", "[MASK]s", "[sep]", "don't do not stop .", "x" * 24, "x" * 25, "\x00\ufffd\u200d"]


def word_piece_cased():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=False, strip_accents=False, lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    tokenizer = trained(tokenizer, word_piece_trainer(380))
    tokenizer.add_tokens([AddedToken("[L]", lstrip=True)])
    return tokenizer, ["a [L] b", "don't do not stop .", "a\u200db", "[UNK]"]


def scripts():
    """Splits at scripts, punctuation and white space; removes marks."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(right=False), normalizers.Prepend("_")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.UnicodeScripts(), pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Digits(True)]
    )
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>"], show_progress=False)
    return trained(tokenizer, trainer), [" a", "aб б a", "日本ーカタひ", "한글 日本", "a\u0378b"]


def gemma():
    """As Gemma: no pre-tokenizer but a split at spaces that matches nothing."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    model = json.loads(trained(words, trainers.BpeTrainer(vocab_size=420, show_progress=False)).to_str())["model"]
    spellings = ["<pad>", "<eos>", "<bos>", "<unk>", *[f"<0x{byte:02X}>" for byte in range(256)], *model["vocab"]]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))

    def fill(content):
        content["model"].update(vocab={s: i for i, s in enumerate(spellings)}, merges=model["merges"])

    tokenizer = edited(tokenizer, fill)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<pad>", "<eos>", "<bos>", "<unk>"])
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False)])
    return tokenizer, ["<bos> a", "a\n\n\nb", "▁▁▁", "<0x41>"]


PIECE_KINDS = {
    "unigram": unigram,
    "unigram_charsmap": unigram_charsmap,
    "unigram_bytes": unigram_bytes,
    "word_piece": word_piece,
    "word_piece_cased": word_piece_cased,
    "scripts": scripts,
    "gemma": gemma,
}
