"""Tiny vocabularies as GGUF files hold them, and what sentencepiece and `tokenizers` make of texts with them."""

import base64
import json

import sentencepiece
from charsmaps import train, train_with_rules
from hashes import hash_lines, texts
from piece_tokenizers import gemma, word_piece
from tokenizers import Regex, pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
PIECE_TYPES = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER_DEFINED, 5: UNUSED, 6: BYTE}


def of_sentencepiece(model, kind, **flags):
    """The fields of a GGUF file, and a function that encodes."""
    spec = model.normalizer_spec
    fields = {
        "model": kind,
        "tokens": [piece.piece for piece in model.pieces],
        "types": [PIECE_TYPES[piece.type] for piece in model.pieces],
        "scores": [piece.score for piece in model.pieces],
        "bos": 1,
        "eos": 2,
        "unknown": 0,
        "add_space_prefix": spec.add_dummy_prefix,
        "remove_extra_whitespaces": spec.remove_extra_whitespaces,
        **flags,
    }
    if spec.precompiled_charsmap:
        fields["precompiled_charsmap"] = base64.b64encode(spec.precompiled_charsmap).decode()
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return fields, lambda text: processor.encode(text)


def llama():
    model = train(
        model_type="bpe", vocab_size=520, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, character_coverage=0.98,
    )
    return of_sentencepiece(model, "llama")


def gemma3():
    model = train(
        model_type="bpe", vocab_size=560, byte_fallback=True, normalization_rule_name="identity", add_dummy_prefix=False,
        remove_extra_whitespaces=False, user_defined_symbols=["\n\n", "<start>"], allow_whitespace_only_pieces=True,
    )
    return of_sentencepiece(model, "llama")


def llama_without_bytes():
    model = train(model_type="bpe", vocab_size=400, normalization_rule_name="identity", remove_extra_whitespaces=False)
    return of_sentencepiece(model, "llama")


def t5():
    return of_sentencepiece(train_with_rules(model_type="unigram", vocab_size=400), "t5")


def t5_bytes():
    model = train_with_rules(
        model_type="unigram", vocab_size=520, byte_fallback=True, remove_extra_whitespaces=False, character_coverage=0.98,
        split_by_whitespace=False,
    )
    return of_sentencepiece(model, "t5")


def of_tokenizer(tokenizer, kind, types, spelled, **flags):
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(vocabulary, key=vocabulary.get)
    kinds = [types.get(token, NORMAL) for token in tokens]
    fields = {"model": kind, "tokens": [spelled(t, k) for t, k in zip(tokens, kinds)], "types": kinds, **flags}
    return fields, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def bert():
    def spelled(token, kind):
        if kind == CONTROL:
            return token
        return token.removeprefix("##") if token.startswith("##") else "▁" + token

    tokenizer, _ = word_piece()
    tokenizer.model.max_input_chars_per_word = 100
    tokenizer.encode_special_tokens = True
    control = {token: CONTROL for token in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}
    return of_tokenizer(tokenizer, "bert", control, spelled, unknown=1, cls=2, separator=3)


def gemma4():
    tokenizer, _ = gemma()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[^\\n]+|\\n+"), "isolated")
    tokenizer.encode_special_tokens = True
    types = {token: CONTROL for token in ["<pad>", "<eos>", "<bos>", "<unk>"]}
    types.update({"\n\n": USER_DEFINED, "▁▁": USER_DEFINED})
    types.update({f"<0x{byte:02X}>": BYTE for byte in range(256)})
    merges = [" ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    return of_tokenizer(tokenizer, "gemma4", types, lambda token, _: token, merges=merges, bos=2, eos=1, unknown=3)


VOCABULARIES = [llama, gemma3, llama_without_bytes, t5, t5_bytes, bert, gemma4]


def write_vocabularies(folder):
    folder.mkdir(exist_ok=True)
    for make in VOCABULARIES:
        fields, encode = make()
        fields["hashes"] = hash_lines(texts(), lambda text: [" ".join(map(str, encode(text)))]).split()
        (folder / f"{make.__name__}.json").write_text(json.dumps(fields, ensure_ascii=False) + "\n")
