"""Layers for multi-token prediction, which Transformers does not read: the formula is written out here, around a
decoder layer of the family. Each golden is an earlier one with such a layer added."""
import copy
import json
import shutil
import tempfile
from pathlib import Path

import torch
from draws import draw_weights, matrix, vector
from reference import greedy, logits_of, margins
from safetensors.torch import load_file, save_file
from sensitivity import SENSITIVITY

MODELS = {"deepseek_v3_mtp": "deepseek_v3_published", "glm4_moe_mtp": "glm4_moe_published",
          "qwen3_next_mtp": "qwen3_next_published", "qwen3_5_mtp": "qwen3_5_typed",
          "glm4_moe_mtp_right": "glm4_moe_published"}
OUTER = ("eh_proj", "enorm", "hnorm", "shared_head.norm")
QWEN = dict(zip(OUTER, ("fc", "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")))
MARGIN = 1e-3


class predictor(torch.nn.Module):
    """logits[i] of token i + 2 = head norm layer(eh_proj [enorm(embedding of token i + 1), hnorm(h[i])]), where h[i] is
    what the model's last norm makes of token i (Liu et al., arXiv:2412.19437, section 2.2)."""

    def __init__(self, whole, layer, rotary):
        super().__init__()
        width = whole.config.hidden_size
        self.whole, self.layer, self.rotary = [whole], layer, [rotary]
        self.eh_proj = torch.nn.Linear(2 * width, width, bias=False)
        self.enorm, self.hnorm, self.norm = (copy.deepcopy(whole.model.norm) for _ in range(3))

    def forward(self, ids):
        whole, rotary = self.whole[0], self.rotary[0]
        ids = torch.tensor([ids])
        h = whole.model(ids, use_cache=False).last_hidden_state[:, :-1]
        e = whole.get_input_embeddings()(ids[:, 1:])
        x = self.eh_proj(torch.cat([self.enorm(e), self.hnorm(h)], -1))
        count = x.shape[1]
        positions = torch.arange(count)[None]
        mask = torch.full((count, count), float("-inf"), dtype=x.dtype).triu(1)[None, None]
        x = self.layer(x, attention_mask=mask, position_ids=positions, position_embeddings=rotary(x, positions))
        return whole.get_output_embeddings()(self.norm(x))[0]


def extended(family, model):
    """The model with one layer more, which attends."""
    config = copy.deepcopy(model.config)
    config.num_hidden_layers += 1
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types + ["full_attention"]
    return family.ARCHITECTURE(config).eval()


def draw(family, model, seed):
    """Returns the predictor, and the model that its layer is the last one of."""
    more = extended(family, model)
    draw_weights(family, more, seed)
    made = predictor(model, more.model.layers[-1], more.model.rotary_emb).eval()
    random = torch.Generator().manual_seed(seed)
    normal = lambda shape: torch.randn(shape, generator=random)
    offset = 0.0 if "qwen3" in model.config.model_type else 1.0  # their norms count from 1
    with torch.no_grad():
        matrix(normal, made.eh_proj.weight)
        for norm in (made.enorm, made.hnorm, made.norm):
            vector(normal, norm.weight, offset)
        for value in [*made.parameters(), *made.buffers()]:
            value.copy_(value.to(torch.bfloat16).float())
    return made, more


def make_right(model, made):
    """Blocks add nothing, so that the next token depends on the last one alone, and the predictor knows it."""
    width = model.config.hidden_size
    with torch.no_grad():
        for part in (model, made):
            for name, value in part.named_parameters():
                if name.endswith(("o_proj.weight", "down_proj.weight", "experts.down_proj")):
                    value.zero_()
        made.eh_proj.weight.copy_(torch.cat([torch.eye(width), torch.zeros(width, width)], 1))
        made.enorm.weight.fill_(1.0)
        made.norm.weight.copy_(model.model.norm.weight)


def unnoticed(made, ids):
    """Tensors without which the logits would be about the same."""
    with torch.no_grad():
        logits = made(ids)
        for name, value in made.state_dict().items():
            kept = value.clone()
            value.zero_()
            if (made(ids) - logits).abs().max() < SENSITIVITY:
                yield name
            value.copy_(kept)


def published(made, more, model):
    """The layer's tensors as files name them."""
    with tempfile.TemporaryDirectory() as folder:
        more.save_pretrained(folder)
        saved = load_file(Path(folder) / "model.safetensors")
    prefix = f"model.layers.{model.config.num_hidden_layers}."
    qwen = "qwen3" in model.config.model_type
    named = {name.replace(prefix, "mtp.layers.0.") if qwen else name: value
             for name, value in saved.items() if name.startswith(prefix)}
    inner = (made.eh_proj.weight, made.enorm.weight, made.hnorm.weight, made.norm.weight)
    named |= {f"mtp.{QWEN[name]}.weight" if qwen else f"{prefix}{name}.weight": value
              for name, value in zip(OUTER, inner)}
    if not qwen:  # copies
        named[prefix + "embed_tokens.weight"] = model.get_input_embeddings().weight
        named[prefix + "shared_head.head.weight"] = model.get_output_embeddings().weight
    return {name: value.detach().to(torch.bfloat16).clone() for name, value in named.items()}


def answers_of(model, golden):
    """The same prompts with what the model now makes of them."""
    tensors = {}
    for i in range(len(golden)):
        if f"p{i}.ids" in golden:
            prompt, count = golden[f"p{i}.ids"].tolist(), len(golden[f"p{i}.gen_ids"])
            continuation = greedy(model, prompt, count)
            rows = logits_of(model, prompt + continuation[:-1])
            tensors |= {f"p{i}.ids": golden[f"p{i}.ids"], f"p{i}.prompt_logits": rows[:len(prompt)].clone(),
                        f"p{i}.gen_ids": torch.tensor(continuation, dtype=torch.int32),
                        f"p{i}.gen_logits": rows[len(prompt) - 1:].clone()}
    return tensors


def make(families, name, here, folder):
    base = here / MODELS[name]
    family = families[MODELS[name]]
    model = family.ARCHITECTURE.from_pretrained(
        base, dtype=torch.float32, attn_implementation="eager", **getattr(family, "LOADING", {})).eval()
    right = name.endswith("_right")
    golden = load_file(base / "golden.safetensors")
    if right:
        made, more = draw(family, model, 1)
        make_right(model, made)
        golden = answers_of(model, golden)
    texts = [golden[f"p{i}.ids"].tolist() + golden[f"p{i}.gen_ids"].tolist()
             for i in range(len(golden)) if f"p{i}.ids" in golden]
    for seed in range(1, 2 if right else 500):
        made, more = (made, more) if right else draw(family, model, seed)
        with torch.no_grad():
            logits = [made(ids) for ids in texts]
        clear = min(float(margins(rows).min()) for rows in logits)
        if clear >= MARGIN and (right or not list(unnoticed(made, texts[-1]))):
            break
    else:
        raise SystemExit(f"{name}: no seed is good enough")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = json.loads((base / "config.json").read_text())
    if "qwen3" not in config["model_type"]:
        config["num_nextn_predict_layers"] = 1
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = {**load_file(base / "model.safetensors"), **published(made, more, model)}
    if right:
        tensors |= {key: torch.zeros_like(value) for key, value in tensors.items()
                    if key.endswith(("o_proj.weight", "down_proj.weight"))}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    golden |= {f"p{i}.mtp_logits": rows.clone() for i, rows in enumerate(logits)}
    save_file(golden, folder / "golden.safetensors")
    description = json.loads((base / "golden.json").read_text())
    description |= {"name": name, "mtp_seed": seed, "mtp_margin": clear}
    (folder / "golden.json").write_text(json.dumps(description, indent=2) + "\n")
    print(f"{name}: seed {seed}, margin {clear:.4f}", flush=True)
