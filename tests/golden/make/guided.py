"""What Transformers' generate continues greedily with classifier-free guidance.

A continuation is kept if noise on the guided scores, far above that of rounding, changes no token.
"""
import json

import torch
from beam_searches import TRIALS, inputs_of, noise
from safetensors.torch import load_file
from transformers import GenerationConfig, LogitsProcessorList

MODELS = ("llama_default", "mistral_window", "gemma2_published", "qwen3_published")
SCALES = (0.5, 1.5, 3.0)
COUNT = 16


def generate(model, inputs, negative, scale, processors=()):
    config = GenerationConfig(max_new_tokens=COUNT, do_sample=False, guidance_scale=scale, pad_token_id=0)
    negative = {} if negative is None else dict(negative_prompt_ids=negative)
    found = model.generate(**inputs, **negative, generation_config=config, logits_processor=LogitsProcessorList(processors))
    return found[0, inputs["input_ids"].shape[1]:].tolist()


def make(families, goldens, path):
    made = []
    for name in MODELS:
        model = families[name].ARCHITECTURE.from_pretrained(goldens / name, dtype=torch.float32).eval()
        model.generation_config = GenerationConfig()
        tensors = load_file(goldens / name / "golden.safetensors")
        inputs = inputs_of(tensors)
        for negative in (None, tensors["p1.ids"].long()[None]):
            for scale in SCALES:
                ids = generate(model, inputs, negative, scale)
                noisy = [generate(model, inputs, negative, scale, [noise(seed)]) for seed in range(TRIALS)]
                if all(each == ids for each in noisy):
                    made.append({"golden": name, "guidance_scale": scale, "ids": ids,
                                 "negative_prompt_ids": [] if negative is None else negative[0].tolist()})
    print(f"{len(made)} continuations", flush=True)
    path.write_text("[\n" + ",\n".join(json.dumps(each) for each in made) + "\n]\n")
