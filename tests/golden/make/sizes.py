"""Goldens of other sizes and settings: one layer, one head, and each entry of each golden's configuration by itself.

Nobody chooses them, and they are not committed: Transformers refuses some, golden_check compares the others.
"""
import copy
import hashlib
import json
import math
import multiprocessing
import re
import shutil
from random import Random

import embedder
import torch
from config_variants import UNREAD
from draws import draw_weights
from folder import ABOUT_THE_FOLDER, build, write_description
from reference import EXPERT_MARGIN, answers, exactly, greedy, logits_of
from safetensors.torch import save_file

NOISE = 2e-5  # between float32 and float64, a tenth of golden_check's tolerance
BLOCK = 32  # numbers of a row that most quantized types of GGUF store together
SEEDS = 8
MIXED = 30  # of each golden
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers",
          "num_decoder_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")
KEY_HEADS = ("num_key_value_heads", "num_kv_heads", "num_global_key_value_heads")
HIDDEN = ("hidden_size", "d_model", "n_embd")
WORDS = (  # that stand for each other
    ("silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu2"), ("greedy", "group_limited_greedy", "noaux_tc"),
    ("softmax", "sigmoid"), ("rope", "nope", "absolute", "relative_key"), ("per_layer", "per_head"), ("auto", "heads"),
    ("layer_norm", "rms_norm"))
STEADY = {"time_step_min": 1e-9}  # Transformers raises time steps of prompts to it, and not those of later tokens
# What cogen reads otherwise than Transformers, and why.
OTHERWISE = {
    "nemotron_h": ["time_step_min"],  # for the same reason
    "zamba2": ["time_step_min", "hybrid_layer_ids"],  # layers_block_type says the same
    "deepseek_v3": ["head_dim"],  # Transformers has it from qk_rope_head_dim, and fails or is wrong where a file differs
    "mistral4": ["head_dim"],
    "phimoe": [f"rope_parameters.{key}" for key in ("long_factor", "short_factor", "original_max_position_embeddings")],
    # Transformers uses short_factor for long texts
}
FAMILIES = {}  # for processes that are forked
MOST = 80  # of any size
SAME = UNREAD + ["architectures", "id2label", "label2id", "vision_config", "audio_config", "suppress_tokens",
                 "init_std", "layerdrop", "is_decoder", "initializer_cutoff_factor", "use_mambapy", "scale_embedding_"]


def make(families, names, into, kinds, processes, block):
    """Writes NAME--KEY-VALUE folders, and prints what Transformers refuses."""
    global BLOCK, NOISE
    BLOCK, NOISE = block, NOISE * block / BLOCK
    FAMILIES.update(families)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for lines in pool.imap_unordered(make_each, [(name, into, kinds) for name in names]):
            print("\n".join(lines), flush=True)


def make_each(work):
    name, into, kinds = work
    torch.set_num_threads(1)
    lines, seen = [], set()
    family = FAMILIES.get(name)
    for label, settings in variants(family, family.MODELS[name]) if family else vector_variants(embedder.MODELS[name]):
        if kinds and not any(kind in label for kind in kinds):
            continue
        folder = into / f"{name}--{label}"
        try:
            said = make_variant(family, settings, folder, seen) if family else make_vectors(settings, folder, seen)
            lines.append(f"{folder.name}: {said}")
        except Exception as error:  # of any kind: what Transformers does not take
            shutil.rmtree(folder, ignore_errors=True)
            lines.append(f"{folder.name}: refused: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return lines


def is_known(config, seen):
    digest = hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True, default=str).encode()).digest()
    if digest in seen:
        return True
    seen.add(digest)
    return False


def make_vectors(settings, folder, seen):
    if is_known(settings["config"], seen):
        return "the same as another"
    torch.manual_seed(0)
    made = embedder.embedder(settings, 1)
    embedder.write_folder(made, folder.name, embedder.draw_texts(settings, 1), 1, folder)
    return "made"


def vector_variants(settings):
    entries = settings["config"].to_dict()
    for label, changes in changes_of(entries):
        made = copy.deepcopy(entries)
        for path, value in changes.items():
            put(made, entries, {}, path, value)
        try:
            yield label, {**settings, "config": type(settings["config"]).from_dict(made)}
        except Exception:  # as above
            continue


def make_variant(family, settings, folder, seen):
    torch.manual_seed(0)
    model = build(family, settings)
    if is_known(model.config, seen):
        return "the same as another"
    shapes = shapes_of(family, settings)
    for seed in range(1, SEEDS):
        draw_weights(family, model, seed)
        model.load_state_dict({key: value.bfloat16().float() for key, value in model.state_dict().items()})
        found = variant_answers(family, model, shapes, seed)
        if found.good:
            break
    else:
        return f"no seed of {SEEDS} is clear of noise"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(found.tensors, folder / "golden.safetensors")
    write_description(folder, folder.name, model, seed, found, {})
    return "made"


def shapes_of(family, settings):
    """Where long texts are rotated otherwise, all are."""
    if any("decoder" in shape for shape in settings.get("prompts", family.PROMPTS)):
        return [dict(tokens=5, new=5, decoder=2), dict(tokens=33, new=3, decoder=17)]
    is_longrope = settings.get("rope_parameters", {}).get("rope_type") == "longrope"
    return [dict(tokens=35 if is_longrope else 5, new=5), dict(tokens=41 if is_longrope else 33, new=3)]


class variant_answers(answers):
    """Worth comparing with if rounding noise is small and each choice of experts clear of it."""

    def add(self, family, model, shape, source, prompt):
        if not experts_are_apart(family, model, prompt, source):
            return False
        continuation = greedy(model, prompt, shape["new"], source)
        ids = prompt + continuation[:-1]
        logits = lambda m: logits_of(m, ids, source)
        if source is not None and model.config.pad_token_id in ids:  # which some give no position
            return False
        if not experts_are_apart(family, model, ids, source):
            return False
        rows = logits(model)
        noise = float((rows.double() - exactly(model, logits)).abs().max())
        if not noise < NOISE:
            return False
        self.keep(source, prompt, rows, continuation, rows[len(prompt) - 1:])
        self.prompts.append({"tokens": shape["tokens"], "new_tokens": shape["new"], "noise": noise})
        return True


def experts_are_apart(family, model, ids, source):
    if not hasattr(family, "expert_scores"):
        return True
    for scores, chosen in family.expert_scores(model, lambda: logits_of(model, ids, source)):
        if chosen < scores.shape[-1]:
            best = scores.topk(chosen + 1).values
            if (best[:, -2] - best[:, -1] < EXPERT_MARGIN).any():
                return False
    return True


def variants(family, settings):
    """(label, settings) of each."""
    whole = {key: value for key, value in settings.items() if key not in ABOUT_THE_FOLDER}
    config = family.configuration(whole)
    entries = config.to_dict()
    aliases = {other: name for other, name in getattr(config, "attribute_map", {}).items()}

    def changed(changes):
        made = copy.deepcopy(settings)
        for path, value in changes.items():
            put(made, entries, aliases, path, value)
        return made

    steady = {key: value for key, value in STEADY.items() if key in entries}
    for label, changes in changes_of(entries):
        if not any(path.startswith(other) for other in OTHERWISE.get(config.model_type, ()) for path in changes):
            yield label, changed({**steady, **changes})


def changes_of(entries):
    """(label, changes) of each, and of some of them together."""
    yield from whole_blocks(entries)
    alone = [*one_layer(entries), *heads(entries), *rotations(entries), *windows(entries), *single(entries)]
    yield from alone
    random = Random(json.dumps(entries, sort_keys=True, default=str))
    for index in range(MIXED):
        mixed = {}
        for _, changes in random.sample(alone, random.randint(2, 4)):
            mixed.update(changes)
        yield f"mixed-{index}", mixed


def put(made, entries, aliases, path, value):
    key, _, inner = path.partition(".")
    for other, name in aliases.items():
        if name == key and other in made:
            del made[other]
    if inner:
        made[key] = copy.deepcopy(made.get(key) or entries[key])
        place, *rest = made[key], *inner.split(".")
        for each in rest[:-1]:
            place = place[each]
        if value is None:
            place.pop(rest[-1], None)
        else:
            place[rest[-1]] = value
    else:
        made[key] = value


def one_layer(entries):
    counts = {key: 1 for key in LAYERS if isinstance(entries.get(key), int)}
    layers = next((entries[key] for key in LAYERS if isinstance(entries.get(key), int)), None)
    lists = {key: value for key, value in entries.items() if isinstance(value, list) and len(value) == layers}
    seen = set()
    for index in range(layers or 0):
        kind = str([value[index] for value in lists.values()])
        if kind in seen:
            continue
        seen.add(kind)
        changes = {**counts, **{key: [value[index]] for key, value in lists.items()}}
        yield f"one_layer{index or ''}", changes
        for key in ("first_k_dense_replace", "num_dense_layers", "mlp_only_layers", "num_kv_shared_layers"):
            if key in entries:
                yield f"one_layer{index or ''}-{key}-0", {**changes, key: [] if isinstance(entries[key], list) else 0}


def heads(entries):
    queries = [key for key in HEADS if isinstance(entries.get(key), int)]
    keys = [key for key in KEY_HEADS if isinstance(entries.get(key), int)]
    if not queries:
        return
    yield "one_head", {key: 1 for key in (*queries, *keys)}
    if keys:
        yield "one_key_head", {key: 1 for key in keys}
        yield "all_key_heads", {key: entries[queries[0]] for key in keys}
    count = entries[queries[0]]
    hidden = [key for key in HIDDEN if isinstance(entries.get(key), int)]
    if len(hidden) == 1:
        for width in (6, 10, 14, 34):
            yield f"hidden-{count}x{width}", {hidden[0]: count * width}
        yield "one_head-hidden-6", {**{key: 1 for key in (*queries, *keys)}, hidden[0]: 6}


IN_BLOCKS = re.compile("(intermediate|ffn|mlp|d_ff|inner|lora_rank|latent|laurel|head_?dim|headdim|d_head|d_kv|dt_rank|"
                       "time_step_rank|per_layer_input|word_embed|mamba_d_ssm)")


def whole_blocks(entries):
    """Rows of matrices that GGUF stores quantized."""
    count = next((entries[key] for key in HEADS if isinstance(entries.get(key), int)), 2)
    changes = {key: BLOCK * count for key in HIDDEN if isinstance(entries.get(key), int)}
    for key, value in entries.items():
        if type(value) is int and IN_BLOCKS.search(key) and "rope" not in key and "vocab" not in key:
            changes[key] = BLOCK * (3 if key.endswith(("intermediate_size", "ffn_dim", "d_ff", "n_inner")) else 1)
    expand = entries.get("expand", entries.get("mamba_expand"))
    if expand is not None:  # channels are that many times hidden states
        width = int(expand * BLOCK)
        changes |= {key: count for key in ("num_heads", "mamba_n_heads", "mamba_num_heads") if key in entries}
        changes |= {key: width for key in ("mamba_d_head", "mamba_head_dim") if key in entries}
        changes |= {"head_dim": width} if "num_heads" in entries else {}
        changes |= {"mamba_d_ssm": count * width} if entries.get("mamba_d_ssm") else {}
    rope = entries.get("rope_parameters") or {}
    if rope.get("rope_type") == "longrope":
        changes["rope_parameters"] = {"rope_type": "default", "rope_theta": rope["rope_theta"]}
    yield "blocks", changes


ROTATIONS = {
    "linear": dict(factor=3.0), "dynamic": dict(factor=3.0, original_max_position_embeddings=256),
    "yarn": dict(factor=4.0, original_max_position_embeddings=64),
    "llama3": dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=48)}


def rotations(entries):
    """Other types of rotation, of plain ones and of others; where types of layers have their own, of each."""
    whole = entries.get("rope_parameters")
    if not isinstance(whole, dict):
        return
    for path, rope in ("rope_parameters", whole), *((f"rope_parameters.{key}", value) for key, value in whole.items()):
        if not isinstance(rope, dict) or "rope_theta" not in rope:
            continue
        label = path.replace("rope_parameters", "rope", 1)
        kept = {key: rope[key] for key in ("rope_theta", "partial_rotary_factor") if key in rope}
        for kind, parameters in {"default": {}, **ROTATIONS}.items():
            yield f"{label}-{kind}", {path: {**kept, "rope_type": kind, **parameters}}
        for share in (0.25, 0.5, 0.3):
            yield f"{label}-partial-{share}", {f"{path}.partial_rotary_factor": share}


def windows(entries):
    """In layers that have none, by each of the keys that say so."""
    layers = next((entries[key] for key in LAYERS if isinstance(entries.get(key), int)), 0)
    used = {key: True for key in ("use_sliding_window",) if key in entries}
    if "sliding_window" in entries and layers > 1:
        types = [("sliding_attention", "full_attention")[index % 2] for index in range(layers)]
        yield "windows", {**used, "sliding_window": 7}
        yield "windows-types", {**used, "sliding_window": 7, "layer_types": types}
        yield "windows-types-unused", {"sliding_window": 7, "layer_types": types}
        for key in ("max_window_layers", "sliding_window_pattern"):
            yield f"windows-{key}", {**used, "sliding_window": 7, "layer_types": None, key: 1}


def single(entries, above=""):
    for key, value in entries.items():
        path = above + str(key)
        if key in SAME or "dropout" in path or "token" in path or "dtype" in path or key in LAYERS:
            continue
        if isinstance(value, dict):
            yield from single(value, path + ".")
            continue
        for other in others(str(key), value):
            yield f"{path}-{re.sub('[^A-Za-z0-9.]+', '_', str(other)).strip('_')[:40]}", {path: other}


def others(key, value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        if value > MOST and key != "vocab_size":
            return [7, 48, 100, 512]
        least = 2 if key.endswith("lora_rank") else 1  # a norm of one number is its sign
        return sorted(other for other in {1, 2, 3, 5, value - 1, value + 1, 2 * value + 1} - {value} if other >= least)
    if isinstance(value, float):
        return [value * 1.7, 1.0] if math.isfinite(value) and value not in (0.0, 1.0) else [0.7, 1.3]
    if isinstance(value, str):
        known = next((words for words in WORDS if value in words), ())
        return [other for other in known if other != value]
    if isinstance(value, list):
        return list_others(value)
    return [7, True] if value is None else []


def list_others(value):
    found = [value[::-1]] if value[::-1] != value else []
    if all(isinstance(each, str) for each in value):
        found += [[kind] * len(value) for kind in dict.fromkeys(value) if [kind] * len(value) != value]
    elif all(isinstance(each, int) for each in value):
        found += [[]] if value else [[0], [1]]
    return found
