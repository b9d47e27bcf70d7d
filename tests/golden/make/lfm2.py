"""LFM 2: short convolutions in most layers, attention with a norm of each query's and key's head in the others."""
from decoder import decoder, draw_ends, draw_part, keep_only, publish_rope, rope
from draws import matrix
from transformers import Lfm2ForCausalLM


def draw(model, normal):
    for name, value in model.named_parameters():
        if name.endswith("conv.conv.weight"):
            matrix(normal, value, 1.5)
        else:
            draw_part(normal, name, value, 1.0)
    draw_ends(model, normal)


def publish(config, settings):
    """The hub's files name the inner width block_ff_dim, and the attending layers by their numbers."""
    publish_rope(config)
    config["full_attn_idxs"] = [i for i, kind in enumerate(config["layer_types"]) if kind == "full_attention"]
    config["block_ff_dim"] = config.pop("intermediate_size")
    config.update(block_dim=config["hidden_size"], block_norm_eps=1e-5, conv_dim=config["hidden_size"],
                  num_heads=config["num_attention_heads"], use_pos_enc=True)
    keep_only(config, """block_auto_adjust_ff_dim block_dim block_ff_dim block_ffn_dim_multiplier block_multiple_of
              block_norm_eps conv_L_cache conv_bias conv_dim full_attn_idxs norm_eps num_heads num_key_value_heads
              pad_token_id use_pos_enc""")
    del config["tie_word_embeddings"]


FAMILIES = [decoder(Lfm2ForCausalLM, {
    "lfm2_published": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=32, num_hidden_layers=4,
        num_attention_heads=3, num_key_value_heads=1, norm_eps=0.02, block_multiple_of=10,
        layer_types=["conv", "full_attention", "conv", "conv"], tie_word_embeddings=True, **rope(500.0)),
    "lfm2_biased": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=18, num_hidden_layers=3,
        num_attention_heads=2, num_key_value_heads=2, norm_eps=0.02, block_auto_adjust_ff_dim=False, conv_L_cache=5,
        conv_bias=True, layer_types=["full_attention", "conv", "full_attention"], tie_word_embeddings=False,
        **rope(300.0)),
}, draw=draw, publish=publish)]
