"""Qwen 3.5 dense: gated delta nets in most layers, attention with gated outputs in the others, and norms that add 1 to
their weights, but for those of the delta nets."""
import torch
from decoder import decoder, draw_ends, draw_part, rope
from draws import matrix, vector
from transformers import Qwen3_5ForCausalLM


def draw(model, normal):
    for name, value in model.named_parameters():
        if name.endswith("A_log"):
            vector(normal, value, -1.0, 1.0)
        elif name.endswith("dt_bias"):
            vector(normal, value, -1.0, 1.0)
        elif name.endswith("conv1d.weight"):
            matrix(normal, value, 1.5)
        else:
            draw_part(normal, name, value, 1.0 if "linear_attn.norm" in name else 0.0)
    draw_ends(model, normal, norm_offset=1.0)


def neutrals(name, value):
    if name.endswith("A_log"):
        return [torch.zeros_like(value), torch.full_like(value, 9.0)]
    return [torch.full_like(value, 1.0 if "linear_attn.norm" in name else 0.0)]


def publish(config, settings):
    """The hub's files wrap the text model, beside one for images and one that guesses further tokens."""
    text = {**config, "model_type": "qwen3_5_text"}
    for key in ("architectures", "transformers_version"):
        del text[key]
    outer = {key: config[key] for key in ("transformers_version", "tie_word_embeddings", "dtype")}
    config.clear()
    config.update(outer, architectures=["Qwen3_5ForConditionalGeneration"], model_type="qwen3_5", text_config=text,
                  image_token_id=90, vision_config=dict(depth=1, hidden_size=8, model_type="qwen3_5"))


def publish_tensors(tensors):
    named = {name.replace("model.", "model.language_model.", 1): value for name, value in tensors.items()}
    unread = torch.ones(3, dtype=torch.bfloat16)
    return {**named, "mtp.fc.weight": unread, "model.visual.merger.norm.weight": unread.clone()}


FAMILIES = [decoder(Qwen3_5ForCausalLM, {
    "qwen3_5_published": dict(
        published=True, dtype="bfloat16", vocab_size=96, hidden_size=26, intermediate_size=20, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, rms_norm_eps=0.02, tie_word_embeddings=True,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5,
        layer_types=["linear_attention", "full_attention"],
        **rope(400.0, partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True)),
}, draw=draw, neutrals=neutrals, publish=publish, publish_tensors=publish_tensors), decoder(Qwen3_5ForCausalLM, {
    "qwen3_5_interval": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=4,
        num_attention_heads=3, num_key_value_heads=1, head_dim=16, rms_norm_eps=0.02, tie_word_embeddings=True,
        linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=5, linear_value_head_dim=7,
        **rope(500.0, partial_rotary_factor=0.25)),
    "qwen3_5_typed": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=18, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=False,
        attention_bias=True, linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=9,
        linear_value_head_dim=6, linear_conv_kernel_dim=3,
        layer_types=["full_attention", "linear_attention", "linear_attention"],
        **rope(300.0, partial_rotary_factor=0.5)),
}, draw=draw, neutrals=neutrals)]
