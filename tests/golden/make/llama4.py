"""Llama 4: chunks and rotated neighbors in most layers, all tokens and a temperature in the others; experts, of which one
scales what it reads, beside one for all rows, and layers without."""
import torch
from decoder import keep_only, publish_rope, rope
from draws import matrix, standard_neutrals
from moe import draw_moe, is_router, moe_decoder
from transformers import Llama4ForCausalLM


def draw(model, normal):
    """Experts are stored [experts, inputs, outputs]."""
    draw_moe(model, normal)
    for name, value in model.named_parameters():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            matrix(normal, value.transpose(1, 2), 1.2)
        elif is_router(name):
            matrix(normal, value, 0.6)  # else a sigmoid of the largest is nearly 1


def neutrals(name, value):
    """Without rotations a bias of keys moves all scores of a query alike."""
    return [] if name.endswith("layers.0.self_attn.k_proj.bias") else standard_neutrals(name, value)


def changes(settings):
    """Without rotations nothing is normed, and no queries grow with them."""
    yield "use_qk_norm", {**settings, "use_qk_norm": not settings.get("use_qk_norm", True)}
    yield "attn_temperature_tuning", {**settings, "attn_temperature_tuning": False}
    for key in ("attention_chunk_size", "floor_scale"):
        for other in (settings[key] - 1, settings[key] + 1):
            yield f"{key} {other}", {**settings, key: other}


def publish(config, settings):
    """The hub's files wrap the text model, beside one for images."""
    publish_rope(config)
    inner = dict(config, model_type="llama4_text", for_llm_compressor=False)
    for key in ("architectures", "transformers_version"):
        del inner[key]
    outer = {key: config[key] for key in ("transformers_version", "tie_word_embeddings", "dtype")}
    config.clear()
    config.update(outer, architectures=["Llama4ForConditionalGeneration"], model_type="llama4", text_config=inner,
                  image_token_index=90, vision_config=dict(hidden_size=8, model_type="llama4_vision_model"))


def publish_tensors(tensors):
    named = {f"language_model.{name}": value for name, value in tensors.items()}
    unread = torch.ones(3, dtype=torch.bfloat16)
    return {**named, "multi_modal_projector.linear_1.weight": unread,
            "vision_model.class_embedding": unread.clone()}


FAMILIES = [moe_decoder(Llama4ForCausalLM, {
    "llama4_published": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=9, intermediate_size_mlp=14,
        num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02,
        tie_word_embeddings=False, num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2,
        attention_chunk_size=5, floor_scale=6, attn_scale=0.6,
        **rope(300.0, "llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
               original_max_position_embeddings=64)),
}, draw=draw, publish=publish, publish_tensors=publish_tensors, further_changes=changes, logits_at=1), moe_decoder(Llama4ForCausalLM, {
    "llama4_text_listed": dict(
        dtype="bfloat16", vocab_size=96, hidden_size=20, intermediate_size=10, intermediate_size_mlp=18,
        num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=0.02,
        tie_word_embeddings=True, num_local_experts=5, num_experts_per_tok=2, moe_layers=[0, 2],
        no_rope_layers=[0, 1, 1], layer_types=["chunked_attention", "full_attention", "chunked_attention"],
        use_qk_norm=False, attention_bias=True, attention_chunk_size=4, floor_scale=5, attn_scale=0.5, **rope(200.0)),
}, draw=draw, neutrals=neutrals, further_changes=changes, logits_at=1)]
