"""Other ways to write the goldens' configurations: keys left out, keys that are null, and older spellings.

Transformers reads each, and what it writes of that, with all defaults in place and in today's spelling, says what each
means. tests/models/config_variants.cpp requires that cogen reads both alike.
"""
import copy
import json
import math
import re

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# What says nothing of the numbers that a model computes.
UNREAD = ("model_type transformers_version dtype torch_dtype use_cache initializer_range _name_or_path "
          "output_hidden_states output_attentions return_dict chunk_size_feed_forward problem_type label2id "
          "vision_config audio_config is_encoder_decoder is_decoder pretraining_tp output_router_logits output_past "
          "router_aux_loss_coef router_z_loss_coef initializer_factor num_logits_to_keep classifier_bias "
          "classifier_activation classifier_pooling sparse_prediction sparse_pred_ignore_index reference_compile "
          "image_token_index video_token_id boi_token_id eoi_token_id boa_token_id eoa_token_index audio_token_id "
          "embedding_size forced_eos_token_id static_position_embeddings normalize_before normalize_embedding "
          "use_mamba_kernels use_mem_eff_path calc_logits_for_entire_prompt image_token_id tokenizer_class").split()
ALWAYS_THERE = ("architectures", "id2label")
MODEL_TYPES = {"kimi_k2": "deepseek_v3"}  # has no class of its own


def make(goldens, families):
    """Writes the variants of each golden's config.json, and the defaults of each family of the list."""
    names = re.findall(r"^FAMILY\((\w+)\)", families.read_text(), re.MULTILINE)
    defaults = {each: written({"model_type": each}) for each in map(model_type, names) if each not in MODEL_TYPES}
    folders = [path.parent for path in goldens.glob("*/config.json")]
    variants = {folder.name: variants_of(json.loads((folder / "config.json").read_text()), defaults)
                for folder in folders}
    entries = [f" {json.dumps(key)}: {{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}"
                                                         for name, value in sorted(group.items())) + "}"
               for key, group in (("defaults", defaults), ("variants", variants))]
    (goldens / "config_variants.json").write_text("{\n" + ",\n".join(entries) + "\n}\n")


def model_type(family):
    return "xlm-roberta" if family == "xlm_roberta" else family


def variants_of(config, defaults):
    """"written": what Transformers writes otherwise. Of that differ: "left_out" and "null": what it writes of the file
    without a key, or with a null under it; "usual": keys of which that is the default, or the null. "respelled":
    spellings of what it writes."""
    whole = written(config)
    known = MODEL_TYPES.get(config["model_type"]) is None
    usual = defaults.get(config["model_type"], {})
    found = {"written": patch(config, whole), "left_out": {}, "usual": {"left_out": [], "null": []}, "null": {},
             "respelled": []}
    for path in paths(config):
        if known:
            add(found, "left_out", path, without(config, path), whole, value_at(usual, path))
        if value_at(config, path) is not None and is_null_at(usual, path):
            add(found, "null", path, replaced(config, path, None), whole, None)
    for other in respellings(whole):
        if is_respelled(other, whole):
            found["respelled"].append(patch(whole, other))
    return {key: value for key, value in found.items() if value}


def add(found, kind, path, variant, whole, usual):
    """Where Transformers reads the variant."""
    try:
        meant = written(variant)
    except Exception:  # of several kinds: required keys, wrong types, divisions by zero
        return
    if "sliding_attention" in (text_of(meant).get("layer_types") or ()) and not text_of(meant).get("sliding_window"):
        return  # such a model is made, but does not run
    key = ".".join(path)
    if patched(whole, {key: usual}) == meant:
        found["usual"][kind].append(key)
    else:
        found[kind][key] = patch(whole, meant)


def is_respelled(variant, whole):
    """Whether Transformers reads the same from it, and not without the entries it has in other places."""
    known = text_of(whole)

    def means_whole(config):
        try:
            meant = written(config)
        except Exception:
            return False
        for key in set(text_of(meant)) - set(known):
            del text_of(meant)[key]
        return meant == whole

    bare = copy.deepcopy(variant)
    for key in [key for key, value in text_of(bare).items() if known.get(key, text_of) != value]:
        del text_of(bare)[key]
    return means_whole(variant) and not means_whole(bare)


def respellings(whole):
    """The same with other names for some entries; some are no spelling that Transformers knows."""
    keys = ("text_config",) if "text_config" in whole else ()
    inner = text_of(whole)
    yield from renamed(whole, keys, inner.get("model_type", whole["model_type"]))
    yield from other_rotations(whole, keys, inner.get("rope_parameters"))
    yield from other_layer_types(whole, keys)


def renamed(config, keys, model_type):
    names = {(name, other) for other, name in CONFIG_MAPPING[MODEL_TYPES.get(model_type, model_type)].attribute_map.items()}
    names |= {("hidden_size", "n_embed"), ("intermediate_size", "block_ff_dim"), ("tie_word_embeddings", "tie_embedding"),
              ("n_groups", "mamba_n_groups"), ("conv_kernel", "mamba_d_conv"), ("use_conv_bias", "mamba_conv_bias")}
    inner = text_of(config)
    for name, other in sorted(names):
        if name in inner and other not in inner:
            yield replaced(without(config, (*keys, name)), (*keys, other), inner[name])


def other_rotations(whole, keys, rope):
    """rope_theta and rope_scaling, and bases of their own names, in place of rope_parameters."""
    if not rope:
        return
    bare = without(whole, (*keys, "rope_parameters"))

    def spelled(**entries):
        made = bare
        for key, value in entries.items():
            made = replaced(made, (*keys, key), value)
        return made

    def older(of):
        return {"type" if key == "rope_type" else key: value for key, value in of.items()}

    def less(of, *names):
        return {key: value for key, value in of.items() if key not in names}

    if "rope_theta" in rope:
        theta, share = rope["rope_theta"], {k: v for k, v in rope.items() if k == "partial_rotary_factor"}
        scaling = less(rope, "rope_theta", *share)
        yield spelled(rope_scaling=rope)
        yield spelled(rope_scaling=scaling, rope_theta=theta, **share)
        yield spelled(rope_scaling=older(scaling), rope_theta=theta, **share)
        yield spelled(rope_parameters=less(rope, "rope_theta"), rope_theta=theta)
        yield spelled(rope_parameters=older(rope))
        if scaling == {"rope_type": "default"}:
            yield spelled(rope_scaling=None, rope_theta=theta, **share)
            yield spelled(rope_theta=theta, **share)
            yield spelled(rotary_emb_base=theta, rotary_pct=share.get("partial_rotary_factor", 1.0))
            if share and "head_dim" in text_of(whole):
                yield spelled(rope_theta=theta, rotary_dim=round(text_of(whole)["head_dim"] * rope["partial_rotary_factor"]))
    elif rope.get("full_attention") and rope.get("sliding_attention"):
        full, sliding = rope["full_attention"], rope["sliding_attention"]
        scaling = less(full, "rope_theta")
        for name, local in (("rope_theta", "rope_local_base_freq"), ("global_rope_theta", "local_rope_theta")):
            bases = {name: full["rope_theta"], local: sliding["rope_theta"]}
            yield spelled(**bases)
            yield spelled(rope_scaling=scaling, **bases)
            yield spelled(rope_scaling=older(scaling), **bases)
        yield spelled(rope_scaling=rope)
        yield spelled(rope_parameters={kind: older(each) for kind, each in rope.items()})
        yield spelled(rope_theta=full["rope_theta"],
                      rope_parameters={**rope, "full_attention": less(full, "rope_theta")})


def other_layer_types(whole, keys):
    """Older names of types, and what older files say in place of a list of them."""
    older = {"linear_attention": "mamba", "full_attention": "attention"}
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
    for key in ("layer_types", "layers_block_type"):
        types = text_of(whole).get(key)
        if not isinstance(types, list):
            continue
        yield replaced(whole, (*keys, key), [older.get(each, each) for each in types])
        bare = without(whole, (*keys, key))
        full = [index for index, each in enumerate(types) if each == "full_attention"]
        for name in ("full_attn_idxs", "attn_layer_indices"):
            yield replaced(bare, (*keys, name), full)
        for name in ("sliding_window_pattern", "full_attention_interval", "global_attn_every_n_layers"):
            for count in range(1, 7):
                yield replaced(bare, (*keys, name), count)
        yield replaced(bare, (*keys, "sliding_window_pattern"), "LLLG")
        if all(each in letters for each in types):
            yield replaced(bare, (*keys, "hybrid_override_pattern"), "".join(letters[each] for each in types))


def written(config):
    """What Transformers writes of a configuration, without what says nothing of numbers."""
    own = config["model_type"]
    read = CONFIG_MAPPING[MODEL_TYPES.get(own, own)].from_dict(as_python(copy.deepcopy(config)))
    return {"model_type": own, **json.loads(json.dumps(as_json(telling(read.to_dict()))))}


def telling(entries):
    return {key: telling(value) if isinstance(value, dict) else value for key, value in entries.items()
            if key not in UNREAD and "dropout" not in str(key) and "layerdrop" not in str(key)}


def as_json(value):
    """Infinities as Transformers writes them."""
    if isinstance(value, float) and math.isinf(value):
        return {"__float__": "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def as_python(value):
    if isinstance(value, dict):
        if set(value) == {"__float__"}:
            return float(value["__float__"].replace("Infinity", "inf"))
        return {key: as_python(each) for key, each in value.items()}
    return [as_python(each) for each in value] if isinstance(value, list) else value


def text_of(config):
    return config.get("text_config") or config


def paths(config, above=()):
    for key, value in config.items():
        if key in (*UNREAD, *ALWAYS_THERE) or "dropout" in key or "layerdrop" in key:
            continue
        yield (*above, key)
        if isinstance(value, dict) and "__float__" not in value:
            yield from paths(value, (*above, key))


def value_at(config, path):
    for key in path:
        config = config.get(key) if isinstance(config, dict) else None
    return config


def is_null_at(config, path):
    above = value_at(config, path[:-1])
    return isinstance(above, dict) and path[-1] in above and above[path[-1]] is None


def replaced(config, path, value):
    made = copy.deepcopy(config)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def without(config, path):
    made = replaced(config, path, None)
    place = made
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return made


def patch(old, new, above=""):
    """Entries of `new` that `old` has otherwise, by their paths; those that `new` lacks are listed under ""."""
    made, gone = {}, []
    for key in old:
        if key not in new and key not in UNREAD:
            gone.append(above + key)
    for key, value in new.items():
        if key not in old:
            made[above + key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            inner = patch(old[key], value, f"{above}{key}.")
            gone += inner.pop("", [])
            made.update(inner)
        elif old[key] != value:
            made[above + key] = value
    return {**made, "": gone} if gone else made


def patched(config, entries):
    made = copy.deepcopy(config)
    for path, value in entries.items():
        if path:
            if value_at(made, path.split(".")[:-1]) is None:
                continue
            made = replaced(made, path.split("."), value)
    for path in entries.get("", []):
        made = without(made, path.split("."))
    return made
