"""Writes processors.json: what Transformers' logits processors make of given logits. Development only.

    python tests/sampling/make.py        # needs transformers 5.23 and torch

The processors are the ones that `generate` itself would assemble, in its order. Presence and frequency penalties, which
Transformers does not have, are OpenAI's formula, over generated tokens:
logit[t] -= count(t) * frequency + (count(t) > 0) * presence.
"""

import json
import pathlib
import random

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList

MARGIN = 1e-5  # no filter's decision may hang on less than this


class CountPenalties(LogitsProcessor):
    def __init__(self, prompt_length, presence, frequency):
        self.prompt_length, self.presence, self.frequency = prompt_length, presence, frequency

    def __call__(self, input_ids, scores):
        counts = np.bincount(input_ids[0, self.prompt_length:].numpy(), minlength=scores.shape[1])
        return scores - torch.from_numpy(counts * self.frequency + (counts > 0) * self.presence)


def logits_rows(rng):
    peaked = rng.normal(0, 1.5, 300)
    peaked[rng.integers(0, 300, 12)] += rng.uniform(4, 12, 12)
    forbidden = rng.normal(0, 2, 130)
    forbidden[rng.integers(0, 130, 60)] = -np.inf
    rows = {
        "small": rng.normal(0, 2, 11),
        "block": rng.normal(0, 3, 64),
        "peaked": peaked,
        "flat": rng.normal(0, 0.4, 257),
        "wide": rng.normal(-3, 5, 1100),
        "forbidden": forbidden,
    }
    return {name: np.round(row, 4).astype(np.float32) for name, row in rows.items()}


def drawn_sampling(rng, vocabulary):
    maybe = lambda chance, value: value if rng.random() < chance else None
    wanted = {
        "temperature": maybe(0.9, round(rng.uniform(0.3, 1.8), 3)) or 1.0,
        "top_k": maybe(0.4, rng.randint(1, max(2, vocabulary // 3))),
        "top_p": maybe(0.5, round(rng.uniform(0.05, 0.995), 4)),
        "min_p": maybe(0.35, round(rng.uniform(0.001, 0.4), 5)),
        "repetition_penalty": maybe(0.5, round(rng.uniform(0.6, 2.5), 3)),
        "presence_penalty": maybe(0.35, round(rng.uniform(-1, 2), 3)),
        "frequency_penalty": maybe(0.35, round(rng.uniform(-1, 2), 3)),
        "min_tokens": maybe(0.35, rng.randint(1, 8)),
        "logit_bias": maybe(0.35, {str(rng.randrange(vocabulary)): round(rng.uniform(-8, 8), 3) for _ in range(5)}),
    }
    return {name: value for name, value in wanted.items() if value is not None}


FIXED = [
    {"temperature": 1.0},
    {"temperature": 0.01},
    {"temperature": 50.0},
    {"temperature": 1.0, "top_k": 1},
    {"temperature": 1.0, "top_k": 5},
    {"temperature": 1.0, "top_k": 100000},
    {"temperature": 1.0, "top_p": 0.0},
    {"temperature": 1.0, "top_p": 0.9},
    {"temperature": 0.7, "top_p": 0.999},
    {"temperature": 1.0, "min_p": 0.05},
    {"temperature": 1.5, "min_p": 1.0},
    {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.02},
]


def processors(model, sampling, prompt_length, end_tokens, greedy):
    config = GenerationConfig(
        do_sample=not greedy,
        temperature=sampling.get("temperature"),
        top_k=sampling.get("top_k", 0),
        top_p=sampling.get("top_p"),
        min_p=sampling.get("min_p"),
        repetition_penalty=sampling.get("repetition_penalty"),
        min_new_tokens=sampling.get("min_tokens"),
        sequence_bias=[[[int(id)], bias] for id, bias in sampling.get("logit_bias", {}).items()] or None,
        eos_token_id=end_tokens,
        pad_token_id=0,
    )
    model._prepare_special_tokens(config, kwargs_has_attention_mask=True)
    counts = CountPenalties(prompt_length, sampling.get("presence_penalty", 0), sampling.get("frequency_penalty", 0))
    own = LogitsProcessorList([counts])
    return model._get_logits_processor(config, input_ids_seq_length=prompt_length, logits_processor=own)


def decided(scores, sampling):
    """True where top_p and min_p decide by more than rounding."""
    weights = np.sort(np.exp(scores - scores.max()))[::-1]
    if sampling.get("top_k", 0):
        weights = weights[:min(sampling["top_k"], len(weights))]
    before = np.concatenate([[0], np.cumsum(weights / weights.sum())[:-1]])
    if 0 < sampling.get("top_p", 1) < 1 and np.abs(before - sampling["top_p"]).min() < MARGIN:
        return False
    ratios = weights[weights < 1]
    return not ("min_p" in sampling and len(ratios) and np.abs(ratios / sampling["min_p"] - 1).min() < MARGIN)


def make_case(model, name, row, sampling, pick):
    vocabulary = len(row)
    prompt = [pick.randrange(vocabulary) for _ in range(pick.randint(1, 12))]
    generated = [pick.randrange(min(20, vocabulary)) for _ in range(pick.randint(0, 10))]
    end_tokens = sorted({pick.randrange(vocabulary), int(row.argmax())})
    greedy = sampling["temperature"] == 0
    ids = torch.tensor([prompt + generated])
    both = []
    for precision in (torch.float64, torch.float32):
        chain = processors(model, sampling, len(prompt), end_tokens, greedy)
        both.append(chain(ids, torch.from_numpy(row)[None].to(precision))[0].double())
    scores = both[0]
    if greedy:
        kept, probabilities = [int(scores.argmax())], [1.0]
        sure = int(both[1].argmax()) == kept[0]
    else:
        unfiltered = {k: v for k, v in sampling.items() if k not in ("top_k", "top_p", "min_p")}
        chain = processors(model, unfiltered, len(prompt), end_tokens, False)
        plain = chain(ids, torch.from_numpy(row)[None].double())[0]
        kept = torch.isfinite(scores).nonzero()[:, 0].tolist()
        probabilities = scores.softmax(0)[kept].tolist()
        sure = torch.equal(torch.isfinite(both[0]), torch.isfinite(both[1])) and decided(plain.numpy(), sampling)
    if not sure:
        return None
    return {"logits": name, "sampling": sampling, "prompt": prompt, "generated": generated, "end_tokens": end_tokens,
            "kept": kept, "probabilities": [float(f"{p:.8g}") for p in probabilities]}


def main():
    transformers.logging.set_verbosity_error()
    model = LlamaForCausalLM(LlamaConfig(vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                         num_attention_heads=1))
    pick = random.Random(20)
    rows = logits_rows(np.random.default_rng(20))
    wanted = [(name, sampling) for sampling in FIXED for name in ("small", "peaked", "forbidden")]
    wanted += [("wide", sampling) for sampling in FIXED[3:]] + [("flat", sampling) for sampling in FIXED[6:8]]
    wanted += [(name, drawn_sampling(pick, len(rows[name]))) for name in rows for _ in range(16)]
    wanted += [(name, dict(drawn_sampling(pick, len(rows[name])), temperature=0)) for name in rows for _ in range(4)]
    cases = [make_case(model, name, rows[name], sampling, pick) for name, sampling in wanted]
    dropped = cases.count(None)
    cases = [case for case in cases if case and len(case["kept"]) <= 400]

    out = pathlib.Path(__file__).with_name("processors.json")
    plain = lambda row: json.dumps([None if np.isinf(x) else float(str(x)) for x in row], separators=(",", ":"))
    with out.open("w") as file:
        file.write(f'{{"transformers": "{transformers.__version__}", "torch": "{torch.__version__}",\n"logits": {{\n')
        file.write(",\n".join(f"{json.dumps(name)}: {plain(row)}" for name, row in rows.items()))
        file.write('\n},\n"cases": [\n')
        file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases))
        file.write("\n]}\n")
    print(f"{out}: {len(cases)} cases, {out.stat().st_size} bytes; {dropped} left out for thin margins")


if __name__ == "__main__":
    main()
