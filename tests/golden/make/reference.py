"""What a model answers: logits, greedy continuations, and whether every choice in them is clear of rounding noise."""
import contextlib
import copy
import math

import torch
from transformers.pytorch_utils import Conv1D

CLEARANCE = 50  # a greedy choice's margin, in units of the rounding noise
MARGIN = 1e-3  # and at least this, five times golden_check's tolerance
EXPERT_MARGIN = 1e-4  # the same for the choice of experts, between scores
EXPERT_CLEARANCE = 1.2  # and in units of what rounding activations to bfloat16 moves that row's scores by
CACHED = 1e-4  # where cached and uncached logits agree


def logits_of(model, ids, source=None):
    """[len(ids), vocabulary]; with a source, ids are the decoder's."""
    with torch.no_grad():
        if source is None:
            return model(torch.tensor([ids]), use_cache=False).logits[0]
        return model(torch.tensor([source]), decoder_input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def prefix_logits(model, prompt, ids):
    """The same, but each row after the prompt is computed from the text up to it."""
    rows = [logits_of(model, ids[:end])[-1:] for end in range(len(prompt) + 1, len(ids) + 1)]
    return torch.cat([logits_of(model, prompt), *rows])


def cached_logits(model, prompt, continuation, source=None):
    """The rows that predict each token of the continuation, computed one token at a time with a cache."""
    with torch.no_grad():
        if source is None:
            step_of = lambda ids, cache: model(torch.tensor([ids]), use_cache=True, **cache)
        else:
            encoded = model.get_encoder()(torch.tensor([source]))
            step_of = lambda ids, cache: model(
                encoder_outputs=encoded, decoder_input_ids=torch.tensor([ids]), use_cache=True, **cache)
        step = step_of(prompt, {})
        rows = [step.logits[0, -1]]
        for token in continuation[:-1]:
            name = next(name for name in ("cache", "cache_params", "state", "past_key_values") if name in step)
            step = step_of([token], {name: step[name]})
            rows.append(step.logits[0, -1])
    return torch.stack(rows)


@contextlib.contextmanager
def in_double():
    """Norms, softmaxes, rotary angles and scans ask for float32 by name; in here they get float64."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


def exactly(model, logits):
    exact = copy.deepcopy(model).double()
    with in_double():
        return logits(exact)


@contextlib.contextmanager
def rounded_activations():
    """What every matrix is multiplied with is rounded to bfloat16, as processors with such products do."""
    kept, kept_transposed = torch.nn.functional.linear, Conv1D.forward
    rounded = lambda x: x.to(torch.bfloat16).to(x.dtype)
    torch.nn.functional.linear = lambda x, *weights: kept(rounded(x), *weights)
    Conv1D.forward = lambda self, x: kept_transposed(self, rounded(x))
    try:
        yield
    finally:
        torch.nn.functional.linear, Conv1D.forward = kept, kept_transposed


def experts_are_clear(family, model, run):
    """Whether each choice of experts is clear of ties, also where activations are rounded."""
    exact = family.expert_scores(model, run)
    with rounded_activations():
        rounded = family.expert_scores(model, run)
    for (scores, chosen), (moved, _) in zip(exact, rounded):
        best = scores.topk(chosen + 1).values
        gaps, moves = best[:, -2] - best[:, -1], (scores - moved).abs().max(1).values
        clearance = getattr(family, "EXPERT_CLEARANCE", EXPERT_CLEARANCE)
        if (gaps < (clearance * moves).clamp(min=EXPERT_MARGIN)).any():
            return False
    return True


def greedy(model, prompt, count, source=None):
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(logits_of(model, ids, source)[-1].argmax()))
    return ids[len(prompt):]


def beam_search(model, prompt, width, count, source=None):
    """Transformers' own: (ids, scores), best first."""
    inputs = dict(input_ids=torch.tensor([prompt])) if source is None else dict(
        input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([prompt]))
    found = model.generate(
        **inputs, num_beams=width, num_return_sequences=width, max_new_tokens=count, do_sample=False, eos_token_id=None,
        pad_token_id=0, length_penalty=1.0, output_scores=True, return_dict_in_generate=True)
    return found.sequences[:, len(prompt):], found.sequences_scores


def plain_beam_search(model, prompt, width, count, source=None):
    """The same, uncached, and by how much the last beam that was kept was above the first that was not."""
    beams, gap = [([], 0.0)], math.inf
    for _ in range(count):
        candidates = []
        for ids, total in beams:
            rows = logits_of(model, prompt + ids, source)[-1].log_softmax(-1).tolist()
            candidates += [(ids + [token], total + row) for token, row in enumerate(rows)]
        candidates.sort(key=lambda candidate: -candidate[1])
        scores = [total for _, total in candidates[:width + 1]]
        gap = min([gap] + [a - b for a, b in zip(scores, scores[1:])])
        beams = candidates[:width]
    return [ids for ids, _ in beams], [total / count for _, total in beams], gap


def margins(rows):
    best = rows.topk(2).values
    return best[:, 0] - best[:, 1]


def circles(ids):
    return len(set(ids)) < len(ids) // 3 or ids[-6:] == ids[-12:-6] or ids[-2:] == ids[-4:-2]


def draw_prompt(random, shape, config):
    """(source or None, prompt): an encoder-decoder's prompt begins with its start token."""
    tokens = lambda count: torch.randint(3, config.vocab_size, (count,), generator=random).tolist()
    if "decoder" not in shape:
        return None, tokens(shape["tokens"])
    return tokens(shape["tokens"]), [config.decoder_start_token_id] + tokens(shape["decoder"] - 1)


class answers:
    """Prompts with what the model makes of them; `good` if they are worth comparing with."""

    def __init__(self, family, model, shapes, seed):
        self.tensors, self.prompts, self.flags = {}, [], []
        self.clearance, self.good = math.inf, True
        random = torch.Generator().manual_seed(seed + 1_000_000)
        for shape in shapes:
            self.good = self.good and self.add(family, model, shape, *draw_prompt(random, shape, model.config))

    def add(self, family, model, shape, source, prompt):
        continuation = greedy(model, prompt, shape["new"], source)
        ids = prompt + continuation[:-1]
        if not self.experts_are_clear(family, model, ids, source):
            return False
        logits = lambda m: prefix_logits(m, prompt, ids) if shape.get("prefixes") else logits_of(m, ids, source)
        rows = logits(model)
        noise = float((rows.double() - exactly(model, logits)).abs().max())
        generated = rows[len(prompt) - 1:]
        smallest = float(margins(generated).min())
        self.clearance = min(self.clearance, smallest / noise)
        if smallest < max(CLEARANCE * noise, MARGIN) or (shape["new"] > 20 and circles(continuation)):
            return False
        if hasattr(family, "STEADY") and not self.is_steady(logits, model, rows, family.STEADY):
            return False
        difference = 0.0
        if not shape.get("uncached"):
            difference = float((cached_logits(model, prompt, continuation, source) - generated).abs().max())
        if difference > CACHED:
            self.flags.append(f"p{len(self.prompts)}: cached logits of Transformers differ by {difference:.1e}")
        if "beams" in shape and not self.add_beams(family, model, shape["beams"], source, prompt, noise):
            return False
        self.keep(source, prompt, rows, continuation, generated)
        self.prompts.append({**describe(shape), "smallest_margin": smallest, "noise": noise})
        return True

    def experts_are_clear(self, family, model, ids, source):
        return not hasattr(family, "expert_scores") or experts_are_clear(
            family, model, lambda: logits_of(model, ids, source))

    def is_steady(self, logits, model, rows, allowed):
        with rounded_activations():
            return float((logits(model) - rows).abs().max()) <= allowed

    def add_beams(self, family, model, shape, source, prompt, noise):
        ids, scores = beam_search(model, prompt, **shape, source=source)
        own, own_scores, gap = plain_beam_search(model, prompt, **shape, source=source)
        if gap < max(CLEARANCE * noise, MARGIN):
            return False
        if not all(self.experts_are_clear(family, model, prompt + beam[:-1], source) for beam in own):
            return False
        if ids.tolist() != own:
            raise SystemExit(f"Transformers finds {ids.tolist()}, a plain search {own}")
        name = f"p{len(self.prompts)}"
        self.tensors[f"{name}.beam_ids"] = ids.to(torch.int32).contiguous()
        self.tensors[f"{name}.beam_scores"] = torch.tensor(own_scores)
        return float((scores - torch.tensor(own_scores)).abs().max()) < CACHED

    def keep(self, source, prompt, rows, continuation, generated):
        name = f"p{len(self.prompts)}"
        integers = lambda values: torch.tensor(values, dtype=torch.int32)
        self.tensors[f"{name}.ids"] = integers(prompt if source is None else source)
        if source is not None:
            self.tensors[f"{name}.decoder_ids"] = integers(prompt)
        self.tensors[f"{name}.prompt_logits"] = rows[:len(prompt)].clone()
        self.tensors[f"{name}.gen_ids"] = integers(continuation)
        self.tensors[f"{name}.gen_logits"] = generated.clone()

    def longest(self):
        """(prompt with its continuation, source) of the prompt with the longest continuation."""
        index = max(range(len(self.prompts)), key=lambda i: self.prompts[i]["new_tokens"])
        ids_of = lambda part: self.tensors[f"p{index}.{part}"].tolist()
        if f"p{index}.decoder_ids" in self.tensors:
            return ids_of("decoder_ids") + ids_of("gen_ids"), ids_of("ids")
        return ids_of("ids") + ids_of("gen_ids"), None


def describe(shape):
    decoder = {"decoder_tokens": shape["decoder"]} if "decoder" in shape else {}
    prefixes = {"prefixes": True} if shape.get("prefixes") else {}
    return {"tokens": shape["tokens"], **decoder, "new_tokens": shape["new"], **prefixes}
