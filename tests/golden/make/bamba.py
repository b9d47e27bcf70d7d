"""Bamba: Mamba-2 in most layers, attention that rotates half of each head in the others."""
from decoder import decoder, draw_ends, draw_part, keep_only, publish_rope, rope
from mamba2 import draw_mamba2_part, neutrals
from transformers import BambaForCausalLM


def draw(model, normal):
    for name, value in model.named_parameters():
        if not draw_mamba2_part(normal, name, value):
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal)


def publish(config, settings):
    """The hub's files say in attn_rotary_emb, which nothing reads, how many numbers of a head are rotated."""
    publish_rope(config)
    config["attn_rotary_emb"] = config["hidden_size"] // config["num_attention_heads"] // 2
    keep_only(config, """attention_bias attention_dropout attn_layer_indices attn_rotary_emb hidden_act
              intermediate_size mamba_chunk_size mamba_conv_bias mamba_d_conv mamba_d_head mamba_d_state mamba_expand
              mamba_n_groups mamba_n_heads mamba_proj_bias mlp_bias num_key_value_heads num_logits_to_keep pad_token_id
              rms_norm_eps rope_scaling""")


FAMILIES = [decoder(BambaForCausalLM, {
    "bamba_published": dict(
        published=True, dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=False,
        attn_layer_indices=[1], mamba_n_heads=4, mamba_n_groups=1, mamba_d_state=6, **rope(300.0)),
    "bamba_biased": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.02, tie_word_embeddings=True,
        attn_layer_indices=[0], attention_bias=True, mlp_bias=True, mamba_n_heads=6, mamba_n_groups=2,
        mamba_d_state=5, mamba_d_conv=3, mamba_expand=3, mamba_proj_bias=True, mamba_conv_bias=False,
        **rope(200.0)),
}, draw=draw, neutrals=neutrals, publish=publish)]
