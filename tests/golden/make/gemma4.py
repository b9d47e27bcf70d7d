"""Gemma 4's text models: other heads in layers of full attention, keys that are values, layers that share them, inputs
of layers, and experts beside the feed-forward."""
import dataclasses
import math

import torch
from decoder import decoder, draw_ends, draw_part
from draws import is_norm, matrix, vector
from moe import FEW_CHOICES
from transformers import Gemma4ForCausalLM


@dataclasses.dataclass
class gemma4(decoder):
    """Experts computed one by one: the grouped ones want rows of whole 16 bytes."""
    LOADING: dict = dataclasses.field(default_factory=lambda: dict(
        experts_implementation="eager", attn_implementation="eager"))

    def changes(self, settings):
        for label, other in super().changes(settings):
            if not label.startswith("layer_types"):  # tensors' shapes depend on them
                yield label, other
        if "top_k_experts" in settings:
            for other in (settings["top_k_experts"] - 1, settings["top_k_experts"] + 1):
                yield f"top_k_experts {other}", {**settings, "top_k_experts": other}

    def expert_scores(self, model, run):
        found = []
        hooks = [module.register_forward_hook(
            lambda m, given, output: found.append((output[0].clone(), model.config.top_k_experts)))
            for module in model.modules() if type(module).__name__.endswith("Router")]
        run()
        for hook in hooks:
            hook.remove()
        return found


def draw(model, normal):
    """Scales of layers, experts and routers are none of them 1. Scores are not divided by anything, so that the norms
    of queries and keys are small."""
    for name, value in model.named_parameters():
        if "q_norm" in name or "k_norm" in name:
            vector(normal, value, 0.8, 0.2)
        elif name.endswith(("router.scale", "per_expert_scale")):
            vector(normal, value, 1.0)
        elif name.endswith("router.proj.weight"):
            matrix(normal, value, 2.0 * math.sqrt(value.shape[-1]))
        elif "embed_tokens_per_layer" in name:
            value.copy_(normal(value.shape) / math.sqrt(model.config.hidden_size_per_layer_input))
        elif "per_layer_model_projection" in name:
            value.copy_(normal(value.shape))
        else:
            draw_part(normal, name, value, 1.0)
    for name, value in model.named_buffers():
        if name.endswith("layer_scalar"):
            value.copy_(normal(value.shape).clamp(-1, 1) * 0.1 + 0.5)
    draw_ends(model, normal, embedding_scale=math.sqrt(model.config.hidden_size))


def neutrals(name, value):
    if name.endswith(("layer_scalar", "router.scale", "per_expert_scale")):
        return [torch.ones_like(value)]
    return [torch.full_like(value, 1.0 if is_norm(name) else 0.0)]


def publish(config, settings):
    """The hub's files wrap the text model, and have the heads of full attention by name."""
    overrides = config.pop("per_layer_config")
    full = overrides[next(iter(overrides))]
    text = {**config, "model_type": "gemma4_text", "global_head_dim": full["head_dim"],
            "num_global_key_value_heads": full.get("num_key_value_heads"),
            "use_bidirectional_attention": "vision" if config["enable_moe_block"] else None}
    for key in ("architectures", "transformers_version"):
        del text[key]
    outer = {key: config[key] for key in ("transformers_version", "tie_word_embeddings", "dtype")}
    config.clear()
    config.update(outer, architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4", text_config=text,
                  image_token_id=90, audio_config=None, vision_config=dict(hidden_size=8, model_type="gemma4_vision"))


def publish_tensors(tensors):
    """Layers that share keys and values have projections of their own, which nobody reads."""
    named = {name.replace("model.", "model.language_model.", 1): value for name, value in tensors.items()}
    unread = torch.ones(3, dtype=torch.bfloat16)
    last = max(int(name.split(".")[3]) for name in named if ".layers." in name)
    if f"model.language_model.layers.{last}.self_attn.k_proj.weight" not in named:
        named[f"model.language_model.layers.{last}.self_attn.k_proj.weight"] = unread.clone()
        named[f"model.language_model.layers.{last}.self_attn.v_proj.weight"] = unread.clone()
    return {**named, "model.embed_vision.embedding_projection.weight": unread,
            "model.vision_tower.std_bias": unread.clone()}


def publish_without_rotations(config, settings):
    del config["rope_parameters"]


def ropes(full, windowed, factor, **others):
    return dict(rope_parameters=dict(
        full_attention=dict(rope_type="proportional", rope_theta=full, partial_rotary_factor=factor),
        sliding_attention=dict(rope_type="default", rope_theta=windowed, **others)))


WINDOW, FULL = "sliding_attention", "full_attention"
DENSE = dict(hidden_size_per_layer_input=0)
FAMILIES = [
    gemma4(Gemma4ForCausalLM, {
        "gemma4_published": dict(
            DENSE, published=True, dtype="bfloat16", vocab_size=97, hidden_size=28, intermediate_size=18,
            num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, head_dim=6, global_head_dim=12,
            num_global_key_value_heads=2, attention_k_eq_v=True, rms_norm_eps=0.02, sliding_window=7,
            layer_types=[WINDOW, WINDOW, FULL], final_logit_softcapping=8.0, tie_word_embeddings=True,
            **ropes(300.0, 60.0, 0.5)),
        "gemma4_dense": dict(
            DENSE, dtype="bfloat16", vocab_size=98, hidden_size=26, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=10, global_head_dim=16, rms_norm_eps=0.1,
            sliding_window=9, layer_types=[FULL, WINDOW, FULL], attention_bias=True, tie_word_embeddings=False,
            **ropes(200.0, 40.0, 0.25)),
        "gemma4_e_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, vocab_size_per_layer_input=97, hidden_size=26,
            hidden_size_per_layer_input=5, intermediate_size=15, num_hidden_layers=6, num_kv_shared_layers=3,
            use_double_wide_mlp=True, num_attention_heads=4, num_key_value_heads=1, head_dim=6, global_head_dim=12,
            rms_norm_eps=0.1, sliding_window=7, layer_types=[WINDOW, FULL, WINDOW, WINDOW, FULL, FULL],
            final_logit_softcapping=8.0, tie_word_embeddings=True, **ropes(300.0, 60.0, 0.5)),
        "gemma4_e_far": dict(
            dtype="bfloat16", vocab_size=96, vocab_size_per_layer_input=96, hidden_size=24,
            hidden_size_per_layer_input=6, intermediate_size=14, num_hidden_layers=6, num_kv_shared_layers=3,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, global_head_dim=10, num_global_key_value_heads=1,
            attention_k_eq_v=True, attention_bias=True, rms_norm_eps=0.1, sliding_window=9,
            layer_types=[FULL, WINDOW, WINDOW, FULL, WINDOW, FULL], tie_word_embeddings=False,
            **ropes(200.0, 40.0, 0.8)),
    }, draw=draw, neutrals=neutrals, publish=publish, publish_tensors=publish_tensors),
    gemma4(Gemma4ForCausalLM, {
        "gemma4_eleven": dict(  # so many that layer 5 is called 05
            DENSE, published=True, dtype="bfloat16", prompts=FEW_CHOICES, vocab_size=48, hidden_size=16,
            intermediate_size=10, num_hidden_layers=11, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
            global_head_dim=16, rms_norm_eps=0.3, sliding_window=7, final_logit_softcapping=4.0,
            tie_word_embeddings=True),
    }, draw=draw, neutrals=neutrals, publish=publish_without_rotations),
    gemma4(Gemma4ForCausalLM, {
        "gemma4_moe_published": dict(
            DENSE, published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=13,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=6, global_head_dim=12,
            num_global_key_value_heads=1, attention_k_eq_v=True, rms_norm_eps=0.1, sliding_window=7,
            layer_types=[WINDOW, FULL], final_logit_softcapping=8.0, tie_word_embeddings=True, enable_moe_block=True,
            num_experts=5, top_k_experts=2, moe_intermediate_size=9, **ropes(300.0, 60.0, 0.5)),
    }, draw=draw, neutrals=neutrals, publish=publish, publish_tensors=publish_tensors, PROMPTS=FEW_CHOICES),
]
