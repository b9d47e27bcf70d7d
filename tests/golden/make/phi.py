"""Phi 3: one matrix for queries, keys and values, one for gate and up, and long RoPE. Phi 2: LayerNorm, attention and
MLP beside each other, rotary positions in a part of each head, biases everywhere."""
from decoder import decoder, keep_only, publish_rope, rope
from transformers import Phi3ForCausalLM, PhiForCausalLM

BEYOND = [dict(tokens=10, new=2), dict(tokens=13, new=2), dict(tokens=11, new=32)]  # longer than 9
ACROSS = [dict(tokens=3, new=2, prefixes=True), dict(tokens=18, new=2, prefixes=True),
          dict(tokens=8, new=36, prefixes=True)]  # 16


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "embd_pdrop resid_pdrop attention_dropout hidden_act intermediate_size num_key_value_heads "
              "original_max_position_embeddings pad_token_id rms_norm_eps sliding_window rope_scaling "
              "partial_rotary_factor layer_norm_eps qk_layernorm")
    if config["model_type"] == "phi":
        return
    config["attention_bias"] = False
    scaling = config["rope_scaling"]
    if config.pop("partial_rotary_factor") != 1.0:
        config["partial_rotary_factor"] = settings["rope_parameters"]["partial_rotary_factor"]
    if scaling:
        config["rope_scaling"] = dict(type="longrope", short_factor=scaling["short_factor"],
                                      long_factor=scaling["long_factor"])


def longrope_changes(settings):
    """The factor on cosines and sines follows from both lengths."""
    if settings.get("rope_parameters", {}).get("rope_type") == "longrope":
        yield "max_position_embeddings", {**settings, "max_position_embeddings": 1024}


FAMILIES = [
    decoder(Phi3ForCausalLM, {
        "phi3_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=22, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02, sliding_window=7,
            tie_word_embeddings=False, **rope(300.0)),
        "phi3_short": dict(
            published=True, dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=22, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.02, tie_word_embeddings=True,
            unseen=("long_factor", "partial_rotary_factor"), max_position_embeddings=512,
            original_max_position_embeddings=64,
            **rope(200.0, "longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.3, 2.1],
                   long_factor=[1.2, 3.5, 9.0])),
        "phi3_long": dict(
            published=True, dtype="bfloat16", prompts=BEYOND, vocab_size=99, hidden_size=24, intermediate_size=20,
            num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02,
            tie_word_embeddings=False, unseen=("short_factor",), max_position_embeddings=96,
            original_max_position_embeddings=9,
            **rope(100.0, "longrope", short_factor=[1.0, 1.05, 1.2, 1.4], long_factor=[1.1, 1.9, 3.2, 6.0])),
    }, publish=publish, further_changes=longrope_changes),
    decoder(PhiForCausalLM, {
        "phi_published": dict(
            published=True, dtype="bfloat16", vocab_size=98, hidden_size=24, intermediate_size=30, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, layer_norm_eps=0.02, hidden_act="gelu_new",
            tie_word_embeddings=False, **rope(100.0, partial_rotary_factor=0.75)),
        "phi_qk_norm": dict(  # texts stay within what a dynamic rotation does not change; an end beyond the vocabulary
            dtype="bfloat16", vocab_size=48, hidden_size=20, intermediate_size=22, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, layer_norm_eps=0.1, hidden_act="gelu_new", qk_layernorm=True,
            eos_token_id=[2, 500], tie_word_embeddings=False, unseen=("factor",),
            **rope(100.0, "dynamic", partial_rotary_factor=0.4, factor=3.0)),
    }, publish=publish),
]
