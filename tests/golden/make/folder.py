"""A golden's folder: drawing its model until it is good, writing it, and checking what was written."""
import json
import shutil

import mxfp4
import quantized
import torch
import transformers
from draws import draw_weights
from reference import answers, logits_of, prefix_logits
from safetensors.torch import load_file, save_file
from sensitivity import insensitive_parts

FRESH = 1e-5  # how far a fresh load may be from what was written, where rounding noise is not greater
ABOUT_THE_FOLDER = ("dtype", "published", "shards", "gguf", "prompts", "unseen", "bare", "mxfp4", "quantized")


def build(family, settings):
    own = {key: value for key, value in settings.items() if key not in ABOUT_THE_FOLDER}
    return family.ARCHITECTURE(family.configuration(own)).eval()


def make(family, name, folder):
    settings = family.MODELS[name]
    torch.manual_seed(0)
    model = build(family, settings)
    for seed in range(1, 5000):
        draw_weights(family, model, seed)
        model.load_state_dict({k: rounded(family, settings, k, v) for k, v in model.state_dict().items()})
        found = answers(family, model, settings.get("prompts", family.PROMPTS), seed)
        if not found.good:
            continue
        unnoticed = insensitive_parts(family, lambda other: build(family, other), model, settings, *found.longest())
        if not unnoticed:
            break
        print(f"  {name} seed {seed}: {', '.join(unnoticed)} would not be missed", flush=True)
    else:
        raise SystemExit(f"{name}: no seed is good enough")
    shutil.rmtree(folder, ignore_errors=True)
    store(family, model, settings, folder)
    save_file(found.tensors, folder / "golden.safetensors")
    write_description(folder, name, model, seed, found, settings)
    size = sum(f.stat().st_size for f in folder.iterdir())
    flags = f", {'; '.join(found.flags)}" if found.flags else ""
    print(f"{name}: seed {seed}, clearance {found.clearance:.0f}, {size // 1024} KiB{flags}", flush=True)


def rounded(family, settings, name, value):
    """What is left of a tensor after it was stored."""
    if settings.get("gguf"):
        return family.rounded_by_gguf(settings["gguf"], name, value)
    if settings.get("mxfp4") and mxfp4.is_packed(name):
        return mxfp4.rounded(value)
    if settings.get("quantized") and quantized.is_packed(name):
        return quantized.rounded(settings["quantized"], name, value)
    return value.to(getattr(torch, settings.get("dtype", "float32"))).float()


def store(family, model, settings, folder):
    if settings.get("gguf"):
        family.store_as_gguf(settings["gguf"], model, folder)
        return
    dtype = getattr(torch, settings.get("dtype", "float32"))
    stored = family.ARCHITECTURE(model.config).to(dtype)
    stored.load_state_dict({k: v.to(dtype) for k, v in model.state_dict().items()})
    stored.config.dtype = dtype
    stored.save_pretrained(folder, max_shard_size=settings.get("shards", "1GB"))
    (folder / "generation_config.json").unlink(missing_ok=True)
    if settings.get("bare"):
        remove_prefix(model.base_model_prefix + ".", folder / "model.safetensors")
    if settings.get("published") and getattr(family, "publish_tensors", None):
        tensors = load_file(folder / "model.safetensors")
        save_file(family.publish_tensors(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    if settings.get("mxfp4"):
        mxfp4.pack_folder(folder)
    if settings.get("quantized"):
        quantized.pack_folder(settings["quantized"], folder)
    if settings.get("published"):
        write_as_published(family, settings, folder / "config.json")


def remove_prefix(prefix, path):
    """Names tensors as in files that were saved from the model without its head."""
    save_file({k.removeprefix(prefix): v for k, v in load_file(path).items()}, path, metadata={"format": "pt"})


def write_as_published(family, settings, path):
    """The spelling of configurations on the model hub."""
    config = json.loads(path.read_text())
    family.publish(config, settings)
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2) + "\n")


def write_description(folder, name, model, seed, found, settings):
    description = {
        "name": name, "model_type": model.config.model_type, "architecture": type(model).__name__, "seed": seed,
        "dtype": "gguf" if settings.get("gguf") else settings.get("dtype", "float32"),
        "transformers": transformers.__version__, "torch": torch.__version__.split("+")[0],
        "flags": found.flags, "prompts": found.prompts}
    (folder / "golden.json").write_text(json.dumps(description, indent=2) + "\n")


def check(family, name, folder):
    """Loads what lies in the folder as a user would, runs each prompt by itself, and compares."""
    if family.MODELS[name].get("gguf"):
        print(f"{name}: not checked, Transformers does not read rotary factors from GGUF files")
        return True
    if family.MODELS[name].get("quantized"):
        print(f"{name}: not checked, Transformers needs the packages of the tools to read it, and computes in bfloat16")
        return True
    loading = getattr(family, "LOADING", {})
    model = family.ARCHITECTURE.from_pretrained(folder, dtype=torch.float32, **loading).eval()
    written = load_file(folder / "golden.safetensors")
    prompts = json.loads((folder / "golden.json").read_text())["prompts"]
    allowed = max(FRESH, *(prompt["noise"] for prompt in prompts))
    differences = []
    for index in range(len(prompts)):
        part = lambda key: written[f"p{index}.{key}"]
        source = part("ids").tolist() if f"p{index}.decoder_ids" in written else None
        prompt = part("ids" if source is None else "decoder_ids").tolist()
        ids = prompt + part("gen_ids").tolist()[:-1]
        whole = prefix_logits(model, prompt, ids) if prompts[index].get("prefixes") else logits_of(model, ids, source)
        differences.append(logits_of(model, prompt, source) - part("prompt_logits"))
        differences.append(whole[len(prompt) - 1:] - part("gen_logits"))
    worst = float(torch.cat(differences).abs().max())
    print(f"{name}: a fresh load is {worst:.1e} from what was written{'' if worst <= allowed else ': TOO FAR'}")
    return worst <= allowed
