"""Falcon-H1: Mamba-2 and attention beside each other in every layer, and multipliers on everything."""
from decoder import decoder, draw_ends, draw_part, rope
from mamba2 import draw_mamba2_part, neutrals
from transformers import FalconH1ForCausalLM


def draw(model, normal):
    config = model.config
    for name, value in model.named_parameters():
        if not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal, embedding_scale=config.embedding_multiplier, logit_scale=config.lm_head_multiplier)


def changes(settings):
    """Each number of a list by itself."""
    for key in ("mlp_multipliers", "ssm_multipliers"):
        for index, value in enumerate(settings.get(key, [])):
            yield f"{key}[{index}]", {**settings, key: settings[key][:index] + [3 * value] + settings[key][index + 1:]}


FAMILIES = [decoder(FalconH1ForCausalLM, {
    "falcon_h1_scaled": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
        num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=False,
        mamba_d_ssm=20, mamba_n_heads=4, mamba_d_state=6, mamba_n_groups=1, attention_in_multiplier=0.9,
        attention_out_multiplier=0.7, key_multiplier=0.6, ssm_in_multiplier=1.2, ssm_out_multiplier=0.8,
        ssm_multipliers=[1.3, 0.7, 0.8, 1.2, 0.6], mlp_multipliers=[1.4, 0.7], embedding_multiplier=4.0,
        lm_head_multiplier=0.25, **rope(300.0)),
    "falcon_h1_normed": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=18, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=True,
        mamba_d_ssm=None, mamba_n_heads=4, mamba_d_state=5, mamba_n_groups=2, mamba_d_conv=3, mamba_rms_norm=True,
        mamba_norm_before_gate=True, mamba_conv_bias=False, mamba_proj_bias=True, projectors_bias=True,
        attention_bias=True, mlp_bias=True, ssm_multipliers=[1.3, 0.7, 0.8, 1.2, 0.6], **rope(200.0)),
}, draw=draw, neutrals=neutrals, further_changes=changes)]
