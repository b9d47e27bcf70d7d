"""Continuations of a real model: the prompts whose narrowest greedy margin is the widest."""
import json

import torch
import transformers
from reference import logits_of, margins
from transformers import AutoTokenizer

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


def make(path, target):
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
    write(plain + chats, name, target)


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


def write(prompts, name, target):
    keys = ("text", "ids", "gen_ids", "top_ids", "top_logits")
    lines = ",\n".join(json.dumps({k: p[k] for k in keys}, separators=(",", ":")) for p in prompts)
    head = json.dumps({"model": name, "transformers": transformers.__version__,
                       "torch": torch.__version__.split("+")[0], "dtype": "float32", "top": TOP})
    target.write_text(f'{head[:-1]}, "prompts": [\n{lines}\n]}}\n')
