"""Encoders and decoders whose hidden states are pooled: what they make of texts, and of pairs of texts."""
import copy
import json
import shutil

import torch
import transformers
from draws import draw_weights, is_norm, matrix, vector
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (BertConfig, BertForSequenceClassification, BertModel, Gemma3TextConfig, Gemma3TextModel,
                          ModernBertConfig, ModernBertForSequenceClassification, ModernBertModel, Qwen3Config,
                          Qwen3Model, RobertaConfig, RobertaForSequenceClassification, RobertaModel, XLMRobertaConfig,
                          XLMRobertaModel)

LENGTHS = (1, 5, 42, 90)
SENSITIVITY = 0.003  # what leaving out any tensor must move some number of a vector by

BERT = dict(vocab_size=128, hidden_size=30, intermediate_size=36, num_hidden_layers=2, num_attention_heads=5,
            max_position_embeddings=96)
ROBERTA = {**BERT, "max_position_embeddings": 98, "type_vocab_size": 1}
MODERN = dict(vocab_size=128, hidden_size=30, intermediate_size=26, num_hidden_layers=4, num_attention_heads=3,
              max_position_embeddings=256, local_attention=14, pad_token_id=0, bos_token_id=1, cls_token_id=1,
              eos_token_id=2, sep_token_id=2, norm_eps=0.02,
              rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=3000.0),
                                   sliding_attention=dict(rope_type="default", rope_theta=50.0)))
ONE_LABEL = dict(num_labels=1)

MODELS = {
    "bert_tiny": dict(words=True, model=BertModel, config=BertConfig(**BERT), pooling="mean", normalize=True),
    "bert_published": dict(model=BertModel, config=BertConfig(**BERT, hidden_act="gelu_new", layer_norm_eps=0.02),
                           pooling="cls", dtype="bfloat16"),
    "bert_scores": dict(words=True, model=BertForSequenceClassification, config=BertConfig(**BERT, **ONE_LABEL), pairs=True),
    "bert_odd": dict(
        model=BertModel, pooling="mean", dtype="bfloat16",
        config=BertConfig(**{**BERT, "vocab_size": 61, "hidden_size": 21, "intermediate_size": 17, "num_hidden_layers": 1,
                             "num_attention_heads": 1})),
    "roberta_tiny": dict(model=RobertaModel, config=RobertaConfig(**ROBERTA), pooling="cls", normalize=True),
    "roberta_scores": dict(model=RobertaForSequenceClassification, config=RobertaConfig(**ROBERTA, **ONE_LABEL),
                           pairs=True),
    "xlm-roberta_tiny": dict(model=XLMRobertaModel, config=XLMRobertaConfig(**ROBERTA), pooling="mean"),
    "modernbert_tiny": dict(model=ModernBertModel, config=ModernBertConfig(**MODERN), pooling="cls", normalize=True),
    "modernbert_biased": dict(
        model=ModernBertModel, pooling="mean", dtype="bfloat16",
        config=ModernBertConfig(**{**MODERN, "local_attention": 11}, norm_bias=True, attention_bias=True, mlp_bias=True)),
    "modernbert_scores": dict(
        model=ModernBertForSequenceClassification, pairs=True, pooling="mean",
        config=ModernBertConfig(**MODERN, **ONE_LABEL, classifier_pooling="mean", classifier_bias=True)),
    "gemma3_embedding": dict(
        model=Gemma3TextModel, pooling="mean", normalize=True, dense=[(30, 44), (44, 30)],
        config=Gemma3TextConfig(
            vocab_size=128, hidden_size=30, intermediate_size=36, num_hidden_layers=3, num_attention_heads=6,
            num_key_value_heads=2, head_dim=8, query_pre_attn_scalar=20, sliding_window=14, rms_norm_eps=0.02,
            max_position_embeddings=256, use_bidirectional_attention=True,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=3000.0),
                                 sliding_attention=dict(rope_type="default", rope_theta=50.0)))),
    "qwen3_embedding": dict(
        model=Qwen3Model, pooling="last", normalize=True,
        config=Qwen3Config(
            vocab_size=128, hidden_size=30, intermediate_size=36, num_hidden_layers=2, num_attention_heads=6,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=256, tie_word_embeddings=True,
            rope_parameters=dict(rope_type="default", rope_theta=3000.0))),
}


class draw_of:
    """Weights far from trivial; a Gemma's norms are what is added to 1."""

    def __init__(self, settings):
        self.norm_mean = 0.0 if settings["model"] is Gemma3TextModel else 1.0

    def draw(self, model, normal):
        for name, value in model.named_parameters():
            if is_norm(name) or "LayerNorm.weight" in name:
                vector(normal, value, self.norm_mean)
            elif value.dim() == 1:
                vector(normal, value)
            elif "embed" in name:
                vector(normal, value, 0.0, 0.7)
            else:
                matrix(normal, value, 1.7)


class embedder:
    """A model with what is done to its hidden states."""

    def __init__(self, settings, seed):
        self.settings = settings
        settings["config"].architectures = [settings["model"].__name__]
        self.model = settings["model"](settings["config"]).eval()
        draw_weights(draw_of(settings), self.model, seed)
        random = torch.Generator().manual_seed(seed)
        self.dense = [torch.randn((outputs, inputs), generator=random) * 1.5 / inputs ** 0.5
                      for inputs, outputs in settings.get("dense", [])]
        dtype = getattr(torch, settings.get("dtype", "float32"))
        self.model.load_state_dict({k: v.to(dtype).float() for k, v in self.model.state_dict().items()})

    def vector_of(self, ids, second=None):
        types = {}
        if second is not None and getattr(self.settings["config"], "type_vocab_size", 1) > 1:
            types["token_type_ids"] = torch.tensor([[0] * second + [1] * (len(ids) - second)])
        with torch.no_grad():
            out = self.model(torch.tensor([ids]), **types)
            return out.logits[0] if self.settings.get("pairs") else self.pooled(out.last_hidden_state[0])

    def pooled(self, states):
        pooling = self.settings["pooling"]
        x = states.mean(0) if pooling == "mean" else states[0 if pooling == "cls" else -1]
        for weight in self.dense:
            x = weight @ x
        return x / x.norm() if self.settings.get("normalize") else x

    def unnoticed(self, ids, second):
        """Tensors that could be left out."""
        whole, found = self.vector_of(ids, second), []
        for name, value in self.model.named_parameters():
            if "pooler" in name and not self.settings.get("pairs"):
                continue
            if name.endswith(("key.bias", "word_embeddings.weight")):
                continue  # a bias of all keys alike moves all scores of a query alike
            kept = value.detach().clone()
            with torch.no_grad():
                value.fill_(1.0 if is_norm(name) or "LayerNorm.weight" in name else 0.0)
            if float((self.vector_of(ids, second) - whole).abs().max()) < SENSITIVITY:
                found.append(name)
            with torch.no_grad():
                value.copy_(kept)
        return found


def make(name, folder):
    settings = MODELS[name]
    for seed in range(1, 50):
        made = embedder(settings, seed)
        texts = draw_texts(settings, seed)
        unnoticed = made.unnoticed(*texts[2])
        if not unnoticed:
            break
        print(f"  {name} seed {seed}: {', '.join(unnoticed)} would not be missed", flush=True)
    else:
        raise SystemExit(f"{name}: no seed is good enough")
    write_folder(made, name, texts, seed, folder)
    print(f"{name}: seed {seed}, {sum(f.stat().st_size for f in folder.rglob('*') if f.is_file()) // 1024} KiB")


def write_folder(made, name, texts, seed, folder):
    settings, tensors = made.settings, {}
    shutil.rmtree(folder, ignore_errors=True)
    store(made, folder)
    for i, (ids, second) in enumerate(texts):
        tensors[f"t{i}.ids"] = torch.tensor(ids, dtype=torch.int32)
        if second is not None:
            tensors[f"t{i}.second"] = torch.tensor([second], dtype=torch.int32)
        tensors[f"t{i}.vector"] = made.vector_of(ids, second).contiguous()
    save_file(tensors, folder / "golden.safetensors")
    description = {
        "name": name, "model_type": settings["config"].model_type, "architecture": settings["model"].__name__,
        "seed": seed, "dtype": settings.get("dtype", "float32"), "transformers": transformers.__version__,
        "torch": torch.__version__.split("+")[0], "texts": list(LENGTHS)}
    (folder / "golden.json").write_text(json.dumps(description, indent=2) + "\n")


def draw_texts(settings, seed):
    """Without the ids below 3: those of padding have no position in a RoBERTa."""
    random = torch.Generator().manual_seed(seed + 1_000_000)
    texts = []
    for length in LENGTHS:
        ids = torch.randint(3, settings["config"].vocab_size, (length,), generator=random).tolist()
        texts.append((ids, length // 3 if settings.get("pairs") and length > 1 else None))
    return texts


def store(made, folder):
    settings = made.settings
    dtype = getattr(torch, settings.get("dtype", "float32"))
    stored = copy.deepcopy(made.model).to(dtype)
    stored.config.dtype = dtype
    stored.save_pretrained(folder)
    if settings.get("words"):
        tokenizer().save(str(folder / "tokenizer.json"))
    if settings.get("pairs"):
        return
    modules = [dict(type="sentence_transformers.models.Transformer", path="")]
    modules.append(dict(type="sentence_transformers.models.Pooling", path="1_Pooling"))
    flags = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "last": "pooling_mode_lasttoken"}
    write(folder / "1_Pooling", {flag: name == settings["pooling"] for name, flag in flags.items()})
    for i, weight in enumerate(made.dense):
        path = f"{len(modules)}_Dense"
        modules.append(dict(type="sentence_transformers.models.Dense", path=path))
        write(folder / path, dict(in_features=weight.shape[1], out_features=weight.shape[0], bias=False,
                                  activation_function="torch.nn.modules.linear.Identity"))
        save_file({"linear.weight": weight}, folder / path / "model.safetensors")
    if settings.get("normalize"):
        modules.append(dict(type="sentence_transformers.models.Normalize", path=f"{len(modules)}_Normalize"))
    for index, module in enumerate(modules):
        module.update(idx=index, name=str(index))
    (folder / "modules.json").write_text(json.dumps(modules, indent=2) + "\n")


def tokenizer():
    """Word pieces, and what a BERT expects around texts and pairs."""
    words = "the a is and by how deep blue sea cat door sat".split()
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    spellings = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words,
                 *(letter for letter in letters if letter not in words), *("##" + letter for letter in letters)]
    made = Tokenizer(models.WordPiece({word: i for i, word in enumerate(spellings)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(spellings[:5])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def write(folder, settings):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n")
