"""SentencePiece models over the test's languages, with a few rules of normalization."""

import io
import tempfile
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as protocol
from strings import CODE, LANGUAGES

SEEN = ["english", "german", "french", "spanish", "polish", "russian", "greek", "hindi", "japanese"]

RULES = {
    "ﬁ": "fi", "ﬀ": "ff", "½": "1⁄2", "²": "2", "Ａ": "A", "１": "1", "２": "2", "３": "3", "ﾊ": "ハ", "ﾝ": "ン",
    "e\u0301": "é", "a\u0301": "á", "n\u0303": "ñ", "か\u3099": "が", "\u0301\u0323": "", "\r\n": " ", "\t": " ",
    "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u2003": " ", "\u200b": "", "\ufeff": "", "İ": "i", "\u212b": "Å",
    "\u1e9b\u0323": "ṩ", "Ⅷ": "VIII", "㋿": "令和", "\u0344": "\u0308\u0301", "①": "1", "②": "2",
}


def rules_file(folder):
    def codes(text):
        return " ".join(f"{ord(c):X}" for c in text)

    path = Path(folder) / "rules.tsv"
    path.write_text("".join(f"{codes(a)}\t{codes(b)}\n" for a, b in RULES.items()))
    return str(path)


def train(**options):
    """The model as its protocol buffer."""
    model = io.BytesIO()
    sentences = iter([*(LANGUAGES[name] for name in SEEN), *CODE] * 3)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=model, minloglevel=2, num_threads=1, hard_vocab_limit=False, **options
    )
    return protocol.ModelProto.FromString(model.getvalue())


def train_with_rules(**options):
    with tempfile.TemporaryDirectory() as folder:
        return train(normalization_rule_tsv=rules_file(folder), **options)


def charsmap():
    return train_with_rules(model_type="unigram", vocab_size=300).normalizer_spec.precompiled_charsmap
