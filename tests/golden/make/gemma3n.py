"""Gemma 3n's text model: several streams of hidden states, low-rank residuals, inputs of layers, gates that are cut off,
and layers that share keys and values."""
import math

import torch
from decoder import decoder, draw_ends, draw_part
from draws import is_norm, matrix, vector
from transformers import Gemma3nForCausalLM


class gemma3n(decoder):
    def changes(self, settings):
        own = settings["num_hidden_layers"] - settings["num_kv_shared_layers"]
        for label, other in super().changes(settings):
            if set(other["layer_types"][:own]) == {WINDOW, FULL} == set(other["layer_types"]):
                yield label, other
        for index, share in enumerate(settings["activation_sparsity_pattern"]):
            others = [*settings["activation_sparsity_pattern"]]
            others[index] = 0.0 if share else 0.5
            yield f"activation_sparsity_pattern[{index}]", {**settings, "activation_sparsity_pattern": others}
        for other in range(settings["altup_num_inputs"]):
            if other != settings["altup_active_idx"]:
                yield f"altup_active_idx {other}", {**settings, "altup_active_idx": other}


def draw(model, normal):
    for name, value in model.named_parameters():
        if "q_norm" in name or "k_norm" in name:
            vector(normal, value, 0.8, 0.2)
        elif name.endswith("correct_output_scale"):
            vector(normal, value, 1.0)
        elif "modality_router" in name:
            matrix(normal, value, 0.7 * value.shape[-1])
        elif "_coefs" in name:
            matrix(normal, value, 0.3)
        elif "embed_tokens_per_layer" in name:
            value.copy_(normal(value.shape) / math.sqrt(model.config.hidden_size_per_layer_input))
        elif "per_layer_model_projection" in name:
            value.copy_(normal(value.shape))
        else:
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal, embedding_scale=math.sqrt(model.config.hidden_size))


def neutrals(name, value):
    if name.endswith("correct_output_scale"):
        return [torch.ones_like(value)]
    return [torch.full_like(value, 1.0 if is_norm(name) else 0.0)]


def neutrals_without_scales(name, value):
    return [] if name.endswith("correct_output_scale") else neutrals(name, value)


def publish(config, settings):
    """The hub's files wrap the text model, and have the rotary bases by name."""
    ropes = config.pop("rope_parameters")
    text = {**config, "model_type": "gemma3n_text", "rope_scaling": None,
            "rope_theta": ropes["full_attention"]["rope_theta"],
            "rope_local_base_freq": ropes["sliding_attention"]["rope_theta"]}
    for key in ("architectures", "transformers_version"):
        del text[key]
    outer = {key: config[key] for key in ("transformers_version", "tie_word_embeddings", "dtype")}
    config.clear()
    config.update(outer, architectures=["Gemma3nForConditionalGeneration"], model_type="gemma3n", text_config=text,
                  image_token_id=90, vision_config=dict(hidden_size=8, model_type="gemma3n_vision"))


def publish_tensors(tensors):
    """Layers that share keys and values have projections of their own, which nobody reads."""
    named = {name.replace("model.", "model.language_model.", 1): value for name, value in tensors.items()}
    unread = torch.ones(3, dtype=torch.bfloat16)
    last = max(int(name.split(".")[3]) for name in named if ".language_model.layers." in name)
    return {**named, f"model.language_model.layers.{last}.self_attn.k_proj.weight": unread,
            "model.embed_vision.embedding_projection.weight": unread.clone(),
            "model.audio_tower.conformer.0.norm.weight": unread.clone()}


def ropes(full, windowed):
    return dict(rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=full),
                                     sliding_attention=dict(rope_type="default", rope_theta=windowed)))


EAGER = dict(attn_implementation="eager")
WINDOW, FULL = "sliding_attention", "full_attention"
FAMILIES = [
    gemma3n(Gemma3nForCausalLM, {
        "gemma3n_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, vocab_size_per_layer_input=97, hidden_size=28,
            hidden_size_per_layer_input=5, intermediate_size=[15, 15, 15, 15], num_hidden_layers=4,
            num_kv_shared_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=0.1,
            sliding_window=7, layer_types=[WINDOW, FULL, WINDOW, FULL], final_logit_softcapping=8.0, laurel_rank=3,
            altup_num_inputs=4, altup_active_idx=0, activation_sparsity_pattern=[0.4, 0.0, 0.3, 0.0],
            tie_word_embeddings=True, **ropes(300.0, 60.0)),
    }, draw=draw, neutrals=neutrals, publish=publish, publish_tensors=publish_tensors, LOADING=EAGER),
    gemma3n(Gemma3nForCausalLM, {
        "gemma3n_text": dict(
            dtype="bfloat16", vocab_size=96, vocab_size_per_layer_input=96, hidden_size=24,
            hidden_size_per_layer_input=4, intermediate_size=[14, 18, 16], num_hidden_layers=3,
            num_kv_shared_layers=1, num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.1,
            sliding_window=9, layer_types=[FULL, WINDOW, FULL], final_logit_softcapping=6.0, laurel_rank=4,
            altup_num_inputs=3, altup_active_idx=1, altup_correct_scale=False, attention_bias=True,
            activation_sparsity_pattern=[0.0, 0.6, 0.4], tie_word_embeddings=False, **ropes(200.0, 40.0)),
        # Those that share keys and values are behind the first layer: stages of a pipeline can have them together.
        "gemma3n_stages": dict(
            dtype="bfloat16", vocab_size=96, vocab_size_per_layer_input=96, hidden_size=24,
            hidden_size_per_layer_input=4, intermediate_size=[14, 12, 14, 12], num_hidden_layers=4,
            num_kv_shared_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.1,
            sliding_window=8, layer_types=[WINDOW, FULL, WINDOW, FULL], final_logit_softcapping=7.0, laurel_rank=3,
            altup_num_inputs=3, altup_active_idx=1, altup_correct_scale=False, attention_bias=False,
            activation_sparsity_pattern=[0.4, 0.0, 0.0, 0.5], tie_word_embeddings=False, **ropes(250.0, 50.0)),
    }, draw=draw, neutrals=neutrals_without_scales, LOADING=EAGER),
]
