#!/usr/bin/env python3
"""Writes the reference outputs ("goldens") that golden_check compares cogen with. Development only.

  python3 -m venv ref && ref/bin/pip install torch==2.11.0 transformers==5.23.0 safetensors gguf
  ref/bin/python tests/golden/make.py tiny [NAME...]       tests/golden/NAME/: small random Llamas and their outputs
  ref/bin/python tests/golden/make.py default MODEL.gguf   tests/golden/default_model.json: what a real model continues

A random model is drawn again, with the next seed, until it is worth comparing with: every greedy choice is clear of
rounding noise, the continuation does not circle, and every tensor and every setting moves the logits.
tests/golden/README.md describes the files.
"""
import argparse
import json
import math
import pathlib
import shutil
import sys

import gguf
import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).parent
PROMPTS = [(5, 10), (17, 10), (42, 72)]  # (tokens of the prompt, tokens to generate)
CLEARANCE = 50  # a greedy choice's margin, in units of the rounding noise
MARGIN = 1e-3  # and at least this, five times golden_check's tolerance
SENSITIVITY = 0.02  # what leaving out any part must move some logit by

SHARED = dict(
    vocab_size=131, hidden_size=42, intermediate_size=60, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=2, head_dim=12, max_position_embeddings=256, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2)

MODELS = {
    "llama_default": dict(tie_word_embeddings=True),
    "llama_linear": dict(
        attention_bias=True, mlp_bias=True, vocab_size=157,
        rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0)),
    "llama_llama3": dict(
        attention_bias=True, head_dim=20, hidden_size=36, num_attention_heads=3, num_key_value_heads=1,
        rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=48)),
    "llama_yarn": dict(
        tie_word_embeddings=True, vocab_size=170,
        rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0, beta_fast=3.0, beta_slow=0.6,
                             original_max_position_embeddings=64)),
    "llama_yarn_scaled": dict(
        mlp_bias=True, hidden_size=45, head_dim=16, num_attention_heads=5, num_key_value_heads=5, num_hidden_layers=2,
        rope_parameters=dict(rope_type="yarn", rope_theta=1000.0, factor=8.0, beta_fast=2.0, beta_slow=0.25, mscale=1.3,
                             mscale_all_dim=0.6, truncate=False, original_max_position_embeddings=32)),
    "llama_bfloat16": dict(dtype="bfloat16", hidden_size=54, num_hidden_layers=4, intermediate_size=84),
    "llama_published": dict(
        published=True, shards="120KB", head_dim=None, hidden_size=56, num_attention_heads=7, num_key_value_heads=1,
        rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0,
                             high_freq_factor=3.0, original_max_position_embeddings=64)),
    "llama_gguf": dict(
        gguf=True, attention_bias=True, hidden_size=96, intermediate_size=64, head_dim=16,
        rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=48)),
}


def configuration(settings):
    own = {**SHARED, **settings}
    for key in ("dtype", "published", "shards", "gguf"):
        own.pop(key, None)
    if own["head_dim"] is None:
        del own["head_dim"]
    return LlamaConfig(**{"tie_word_embeddings": False, **own})


def draw_weights(model, seed):
    """Each matrix keeps the size of what passes through it; norms, biases and attention scores are far from trivial."""
    random = torch.Generator().manual_seed(seed)
    normal = lambda shape: torch.randn(shape, generator=random)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() == 1:
                value.copy_(normal(value.shape) * 0.3 + (1.0 if "norm" in name else 0.0))
            else:
                gain = 1.7 if "q_proj" in name or "k_proj" in name else 1.2
                value.copy_(normal(value.shape) * gain / math.sqrt(value.shape[1]))
        embedding = model.model.embed_tokens.weight
        tied = model.config.tie_word_embeddings
        embedding.copy_(normal(embedding.shape) * (0.3 if tied else 1.0))
        if tied:
            model.model.norm.weight.mul_(2 / (0.3 * math.sqrt(embedding.shape[1])))
        else:
            model.lm_head.weight.copy_(normal(model.lm_head.weight.shape) * 2 / math.sqrt(embedding.shape[1]))


def rounded(settings, name, value):
    """What is left of a tensor after it was stored."""
    if settings.get("gguf"):
        kind = gguf_type(name)
        return torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(value.numpy(), kind), kind).copy())
    return value.to(getattr(torch, settings.get("dtype", "float32"))).float()


def gguf_type(name):
    """Every type in every place: the list is turned by one from layer to layer."""
    kinds = gguf.GGMLQuantizationType
    if "norm" in name or "bias" in name:
        return kinds.F32
    if not name.startswith("model.layers"):
        return kinds.F16 if "embed" in name else kinds.Q8_0
    types = [kinds.Q4_0, kinds.Q4_1, kinds.Q5_0, kinds.Q5_1, kinds.Q8_0, kinds.F16, kinds.BF16]
    place = [f"{part}_proj" for part in "q k v o gate up down".split()].index(name.split(".")[-2])
    return types[(place + int(name.split(".")[2])) % len(types)]


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def cached_logits(model, prompt, continuation):
    """The rows that predict each token of the continuation, computed one token at a time with a cache."""
    with torch.no_grad():
        step = model(torch.tensor([prompt]), use_cache=True)
        rows = [step.logits[0, -1]]
        for token in continuation[:-1]:
            step = model(torch.tensor([[token]]), past_key_values=step.past_key_values, use_cache=True)
            rows.append(step.logits[0, -1])
    return torch.stack(rows)


def greedy(model, prompt, count):
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(logits_of(model, ids)[-1].argmax()))
    return ids[len(prompt):]


def margins(rows):
    best = rows.topk(2).values
    return best[:, 0] - best[:, 1]


def circles(ids):
    return len(set(ids)) < len(ids) // 3 or ids[-6:] == ids[-12:-6] or ids[-2:] == ids[-4:-2]


def insensitive_parts(model, settings, ids):
    """The tensors and settings that could be left out without anybody noticing."""
    whole = logits_of(model, ids)
    moved = lambda other: float((logits_of(other, ids) - whole).abs().max())
    unnoticed = []
    with torch.no_grad():
        for name, value in model.named_parameters():
            kept = value.clone()
            value.fill_(1.0 if "norm" in name else 0.0)
            if moved(model) < SENSITIVITY:
                unnoticed.append(name)
            value.copy_(kept)
    rope = settings.get("rope_parameters")
    if rope:
        for key in [k for k in rope if k not in ("rope_type", "rope_theta")] + ["rope_type"]:
            changed = LlamaForCausalLM(configuration({**settings, "rope_parameters": altered(rope, key)})).eval()
            changed.load_state_dict(model.state_dict())
            if moved(changed) < SENSITIVITY:
                unnoticed.append(key)
    return unnoticed


def altered(rope, key):
    if key == "rope_type":
        return dict(rope_type="default", rope_theta=rope["rope_theta"])
    value = rope[key]
    return {**rope, key: not value if isinstance(value, bool) else value * 2}


def reference(model, seed, vocabulary):
    """Prompts with their outputs, and the clearance of the tightest greedy choice; None where it is too tight."""
    random = torch.Generator().manual_seed(seed + 1_000_000)
    exact = LlamaForCausalLM(model.config).eval().double()
    exact.load_state_dict({k: v.double() for k, v in model.state_dict().items()})
    exact.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq
    tensors, prompts, clearance = {}, [], math.inf
    for index, (length, count) in enumerate(PROMPTS):
        ids = torch.randint(3, vocabulary, (length,), generator=random).tolist()
        continuation = greedy(model, ids, count)
        rows = logits_of(model, ids + continuation[:-1])
        noise = float((rows.double() - logits_of(exact, ids + continuation[:-1])).abs().max())
        generated = rows[length - 1:]
        smallest = float(margins(generated).min())
        clearance = min(clearance, smallest / noise)
        if smallest < max(CLEARANCE * noise, MARGIN) or (count > 20 and circles(continuation)):
            return None
        cached = cached_logits(model, ids, continuation)
        if float((cached - generated).abs().max()) > 1e-4:
            raise SystemExit("cached and uncached logits differ: write this down under flags")
        tensors[f"p{index}.ids"] = torch.tensor(ids, dtype=torch.int32)
        tensors[f"p{index}.prompt_logits"] = rows[:length].clone()
        tensors[f"p{index}.gen_ids"] = torch.tensor(continuation, dtype=torch.int32)
        tensors[f"p{index}.gen_logits"] = generated.clone()
        prompts.append({"tokens": length, "new_tokens": count, "smallest_margin": smallest, "noise": noise})
    return tensors, prompts, clearance


def make_tiny(name):
    settings = MODELS[name]
    config = configuration(settings)
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    for seed in range(1, 2000):
        draw_weights(model, seed)
        model.load_state_dict({k: rounded(settings, k, v) for k, v in model.state_dict().items()})
        found = reference(model, seed, config.vocab_size)
        if not found:
            continue
        tensors, prompts, clearance = found
        unnoticed = insensitive_parts(model, settings, tensors["p2.ids"].tolist() + tensors["p2.gen_ids"].tolist())
        if not unnoticed:
            break
        print(f"  {name} seed {seed}: {', '.join(unnoticed)} would not be missed")
    else:
        raise SystemExit(f"{name}: no seed is good enough")
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    store(model, settings, folder)
    save_file(tensors, folder / "golden.safetensors")
    write_description(folder, name, model, seed, prompts, settings)
    size = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{name}: seed {seed}, clearance {clearance:.0f}, {size // 1024} KiB")


def store(model, settings, folder):
    if settings.get("gguf"):
        store_as_gguf(model, folder)
        return
    dtype = getattr(torch, settings.get("dtype", "float32"))
    stored = LlamaForCausalLM(model.config).to(dtype)
    stored.load_state_dict({k: v.to(dtype) for k, v in model.state_dict().items()})
    stored.config.dtype = dtype
    stored.save_pretrained(folder, max_shard_size=settings.get("shards", "1GB"))
    (folder / "generation_config.json").unlink(missing_ok=True)
    if settings.get("published"):
        write_as_published(folder / "config.json")


def store_as_gguf(model, folder):
    folder.mkdir(parents=True)
    config = model.config
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, value in model.state_dict().items():
        stored, kind = interleaved(config, name, value.numpy()), gguf_type(name)
        blocks = gguf.quants.quantize(stored, kind)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), blocks, raw_dtype=kind)
    standard = 1 / config.rope_parameters["rope_theta"] ** (torch.arange(0, config.head_dim, 2) / config.head_dim)
    writer.add_tensor("rope_freqs.weight", (standard / model.model.rotary_emb.inv_freq).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleaved(config, name, value):
    """GGML rotates neighbours where Transformers rotates halves: rows of queries and keys change places."""
    if "q_proj" not in name and "k_proj" not in name:
        return value
    halves = value.reshape(-1, 2, config.head_dim // 2, *value.shape[1:])
    return halves.swapaxes(1, 2).reshape(value.shape)


def write_as_published(path):
    """The spelling of configurations on the model hub: rope_theta and rope_scaling, no head_dim."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope
    config["torch_dtype"] = config.pop("dtype")
    del config["head_dim"]
    path.write_text(json.dumps(config, indent=2) + "\n")


def write_description(folder, name, model, seed, prompts, settings):
    description = {
        "name": name, "model_type": model.config.model_type, "architecture": "LlamaForCausalLM", "seed": seed,
        "dtype": "gguf" if settings.get("gguf") else settings.get("dtype", "float32"),
        "transformers": transformers.__version__, "torch": torch.__version__.split("+")[0],
        "flags": [], "prompts": prompts}
    (folder / "golden.json").write_text(json.dumps(description, indent=2) + "\n")


CANDIDATES = [
    "The capital of France is", "One, two, three, four, five,", "Monday, Tuesday, Wednesday,",
    "January, February, March,", "The first ten prime numbers are", "2, 4, 6, 8, 10,", "100, 90, 80,",
    "a b c d e f g", "Once upon a time", "Water boils at", "def factorial(n):\n    if n == 0:\n        return 1\n",
    "for i in range(10):\n    print(", "<html>\n<head>\n<title>", "The quick brown fox", "To be, or not to be,",
    "The planets of the solar system are Mercury, Venus,", "E = mc", "Roses are red,", "import numpy as",
    "Twinkle, twinkle, little star,", "We hold these truths to be self-evident,", "SELECT name FROM users WHERE",
    "The chemical formula of water is", "Alpha, beta, gamma,", "int main() {\n", "# Title\n\n- one\n- two\n",
    "Q: What is 2 + 2?\nA:", "The opposite of hot is cold. The opposite of up is",
]
QUESTIONS = [
    "What is the capital of Italy?", "Count from one to ten.", "Name the days of the week.", "Say hello.",
    "What color is the sky?", "Write a short poem about the sea.", "What is 7 times 8?", "List three fruits.",
    "Who wrote Romeo and Juliet?", "Explain what a compiler is in one sentence.", "Name the months of the year.",
    "What is the largest planet?", "Repeat after me: one two three.",
    "Write a function that adds two numbers in Python.",
]
TOP = 8
NEW_TOKENS = 48


def make_default(path):
    """The twelve prompts whose narrowest greedy margin is the widest, at most one half of them chats."""
    folder, name = str(path.parent), path.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    texts = [(text, text) for text in CANDIDATES]
    for question in QUESTIONS:
        chat = [{"role": "user", "content": question}]
        texts.append((question, tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)))
    measured = sorted((continuation_of(model, tokenizer, *text) for text in texts), key=lambda p: -p["smallest_margin"])
    plain = [p for p in measured if p["text"] == p["prompt"]][:7]
    chats = [p for p in measured if p["text"] != p["prompt"]][:12 - len(plain)]
    for prompt in plain + chats:
        print(f"{prompt['smallest_margin']:.3f} noise {prompt['noise']:.1e} {prompt['text']!r}"
              f" -> {tokenizer.decode(prompt['gen_ids'])!r}")
    write_continuations(plain + chats, name)


def continuation_of(model, tokenizer, prompt, text):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        step = model(torch.tensor([ids]), use_cache=True)
        generated, rows = [], []
        while len(rows) < NEW_TOKENS:
            rows.append(step.logits[0, -1])
            generated.append(int(rows[-1].argmax()))
            step = model(torch.tensor([[generated[-1]]]), past_key_values=step.past_key_values, use_cache=True)
    rows = torch.stack(rows)
    whole = logits_of(model, ids + generated[:-1])[len(ids) - 1:]
    best = rows.topk(TOP)
    return {
        "prompt": prompt, "text": text, "ids": ids, "gen_ids": generated, "smallest_margin": float(margins(rows).min()),
        "noise": float((rows - whole).abs().max()), "top_ids": best.indices.tolist(),
        "top_logits": [[round(v, 5) for v in row] for row in best.values.tolist()]}


def write_continuations(prompts, name):
    keys = ("text", "ids", "gen_ids", "top_ids", "top_logits")
    lines = ",\n".join(json.dumps({k: p[k] for k in keys}, separators=(",", ":")) for p in prompts)
    head = json.dumps({"model": name, "transformers": transformers.__version__,
                       "torch": torch.__version__.split("+")[0], "dtype": "float32", "top": TOP})
    (HERE / "default_model.json").write_text(f'{head[:-1]}, "prompts": [\n{lines}\n]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tiny").add_argument("names", nargs="*", default=list(MODELS))
    commands.add_parser("default").add_argument("model", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "tiny":
        for name in arguments.names or MODELS:
            make_tiny(name)
    else:
        make_default(arguments.model)


if __name__ == "__main__":
    sys.exit(main())
