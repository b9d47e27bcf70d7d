"""What Transformers' beam search finds on the golden models.

Each model continues the first prompt of its golden in several ways. End tokens are chosen among what a search without
them finds, so that hypotheses end at different lengths. A search is kept if noise on the log-probabilities, far above
that of rounding, changes no hypothesis.
"""
import collections
import itertools
import json

import torch
from reference import CACHED, logits_of
from safetensors.torch import load_file
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

NOISE = 1e-4
TRIALS = 3
USUAL = dict(num_beams=4, num_return_sequences=4, max_new_tokens=14)
WAYS = [
    dict(USUAL, ends=1),
    dict(USUAL, ends=2, early_stopping=True, length_penalty=0.6),
]
MORE_WAYS = [
    dict(USUAL, ends=2, early_stopping="never", length_penalty=2.0),
    dict(USUAL, ends=1, num_beams=3, num_return_sequences=2, length_penalty=-1.0),
    dict(USUAL, ends=3, length_penalty=0.0, early_stopping="never"),
    dict(USUAL, ends=1, num_beams=6, num_return_sequences=3, repetition_penalty=1.4, min_new_tokens=7),
    dict(USUAL, ends=0, max_new_tokens=40),
]
MORE = ("llama_default", "mistral_window", "jamba_tiny", "mamba2_biased", "qwen3_next_published", "bart_tiny", "t5_published")


class noise(LogitsProcessor):
    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)

    def __call__(self, ids, scores):
        return scores + NOISE * (2 * torch.rand(scores.shape, generator=self.random) - 1)


def search(model, inputs, way, ends, processors=()):
    """[(ids with the end token, score)], best first."""
    how = {"length_penalty": 1.0, "early_stopping": False, **{k: v for k, v in way.items() if k != "ends"}}
    config = GenerationConfig(
        **how, do_sample=False, eos_token_id=ends or None, pad_token_id=0, output_scores=True,
        return_dict_in_generate=True, use_cache=True)
    with torch.no_grad():
        found = model.generate(**inputs, generation_config=config, logits_processor=LogitsProcessorList(processors))
    prompt = inputs.get("decoder_input_ids", inputs["input_ids"]).shape[1]
    cut = lambda ids: ids[:next((i + 1 for i, id in enumerate(ids) if id in ends), len(ids))]
    return [(cut(ids[prompt:].tolist()), float(score)) for ids, score in zip(found.sequences, found.sequences_scores)]


def is_clear(model, inputs, way, ends, found):
    ids_of = lambda hypotheses: [ids for ids, _ in hypotheses]
    return all(ids_of(search(model, inputs, way, ends, [noise(seed)])) == ids_of(found) for seed in range(TRIALS))


def end_tokens(model, inputs, way):
    """Sets of tokens to end with, those that a search without any finds most often first."""
    if way["ends"] == 0:
        return [[]]
    counts = collections.Counter()
    for ids, _ in search(model, inputs, dict(USUAL, ends=0), []):
        counts.update(set(ids[1:]))
    common = [id for id, _ in counts.most_common(6)]
    return [list(each) for each in itertools.combinations(common, way["ends"])]


def check_uncached(model, inputs, found, length_penalty):
    """That the cached numbers of a search are those of forwards of whole texts."""
    source, prompt = inputs["input_ids"][0].tolist(), inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    for ids, score in found:
        rows = logits_of(model, prompt + ids[:-1], source if "decoder_input_ids" in inputs else None)
        logprobs = rows[len(prompt) - 1:].log_softmax(-1)[range(len(ids)), ids]
        difference = abs(float(logprobs.sum()) / len(ids) ** length_penalty - score)
        if difference > 10 * CACHED:
            raise ValueError(f"its cached search is {difference:.1e} from its uncached logits")


def check_prompt(model, inputs, tensors):
    """That the folder is read as what its golden was made with."""
    with torch.no_grad():
        difference = float((model(**inputs).logits[0] - tensors["p0.prompt_logits"]).abs().max())
    if difference > CACHED:
        raise ValueError(f"a fresh load is {difference:.1e} from the golden")


def inputs_of(tensors):
    tokens = lambda name: tensors[name].long()[None]
    inputs = dict(input_ids=tokens("p0.ids"), attention_mask=torch.ones_like(tokens("p0.ids")))
    if "p0.decoder_ids" in tensors:
        inputs["decoder_input_ids"] = tokens("p0.decoder_ids")
    return inputs


def searches_of(family, name, folder):
    model = family.ARCHITECTURE.from_pretrained(folder, dtype=torch.float32, **getattr(family, "LOADING", {})).eval()
    model.generation_config = GenerationConfig(
        decoder_start_token_id=getattr(model.config, "decoder_start_token_id", None))
    tensors = load_file(folder / "golden.safetensors")
    inputs, searches = inputs_of(tensors), []
    check_prompt(model, inputs, tensors)
    for way in WAYS + (MORE_WAYS if name in MORE else []):
        for ends in end_tokens(model, inputs, way):
            found = search(model, inputs, way, ends)
            varied = way["ends"] == 0 or len({len(ids) for ids, _ in found}) > 1
            if varied and is_clear(model, inputs, way, ends, found):
                if "repetition_penalty" not in way:
                    check_uncached(model, inputs, found, way.get("length_penalty", 1.0))
                how = {key: value for key, value in way.items() if key != "ends"}
                hypotheses = [{"ids": ids, "score": score} for ids, score in found]
                searches.append({"golden": name, **how, "eos_token_id": ends, "hypotheses": hypotheses})
                break
    return searches


def make(families, names, goldens, path):
    """Replaces the searches of the named models in the file."""
    made = [each for each in read(path) if each["golden"] not in names]
    for name in names:
        try:
            found = searches_of(families[name], name, goldens / name)
        except Exception as error:  # a model that Transformers cannot search with
            print(f"{name}: none, {type(error).__name__}: {str(error).splitlines()[0][:140]}", flush=True)
            continue
        print(f"{name}: {len(found)} searches", flush=True)
        made += found
    made.sort(key=lambda each: each["golden"])
    path.write_text("[\n" + ",\n".join(json.dumps(each) for each in made) + "\n]\n")


def read(path):
    return json.loads(path.read_text()) if path.exists() else []
