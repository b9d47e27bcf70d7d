"""GPT-2, GPT-BigCode (StarCoder), GPT-J and GPT-NeoX (Pythia): LayerNorm, biases and an MLP without a gate."""
import math

from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from draws import vector
from transformers import GPT2LMHeadModel, GPTBigCodeForCausalLM, GPTJForCausalLM, GPTNeoXForCausalLM


def draw_gpt2(model, normal):
    """Its matrices are stored transposed. What a token is counts less than where it stands."""
    draw_decoder(model, normal)
    for name, value in model.named_parameters():
        if ".h." in name and value.dim() == 2:
            value.mul_(math.sqrt(value.shape[1] / value.shape[0]))
    draw_positions(model, normal)


def draw_positions(model, normal):
    vector(normal, model.transformer.wpe.weight, 0.0, 0.6)


def draw_bigcode(model, normal):
    draw_decoder(model, normal)
    draw_positions(model, normal)


def publish_gpt2(config, settings):
    config["n_ctx"] = config["n_positions"]
    for key in ("add_cross_attention", "pad_token_id", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx",
                "scale_attn_weights", "tie_word_embeddings", "use_cache"):
        config.pop(key, None)


def publish_bigcode(config, settings):
    config.update(inference_runner=0, max_batch_size=None, max_sequence_length=None, pad_key_length=True,
                  pre_allocate_kv_cache=False, validate_runner_input=True)
    for key in ("add_cross_attention", "multi_query", "num_key_value_heads", "pad_token_id", "tie_word_embeddings"):
        config.pop(key, None)


def publish_neox(config, settings):
    publish_rope(config)
    config["rotary_emb_base"] = int(config.pop("rope_theta"))
    config["rotary_pct"] = config.pop("partial_rotary_factor")
    keep_only(config, "hidden_act intermediate_size layer_norm_eps rotary_emb_base rotary_pct use_parallel_residual")


FAMILIES = [
    decoder(GPT2LMHeadModel, {
        "gpt2_published": dict(
            published=True, bare=True, dtype="bfloat16", vocab_size=97, n_positions=64,
            max_position_embeddings=64, n_embd=24, n_layer=2, n_head=3, n_inner=26, layer_norm_epsilon=0.02,
            activation_function="gelu_new", tie_word_embeddings=True),
    }, draw=draw_gpt2, publish=publish_gpt2),
    decoder(GPTBigCodeForCausalLM, {
        "gpt_bigcode_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, n_positions=64, max_position_embeddings=64, n_embd=24,
            n_layer=2, n_head=3, n_inner=26, layer_norm_epsilon=0.02, activation_function="gelu_pytorch_tanh",
            multi_query=True, tie_word_embeddings=True),
        "gpt_bigcode_heads": dict(
            dtype="bfloat16", vocab_size=98, n_positions=64, max_position_embeddings=64, n_embd=21, n_layer=2, n_head=3,
            n_inner=None, layer_norm_epsilon=0.02, activation_function="gelu", multi_query=False,
            scale_attn_weights=False, tie_word_embeddings=False),
    }, draw=draw_bigcode, publish=publish_bigcode, further_changes=lambda settings: [
        ("scale_attn_weights", {**settings, "scale_attn_weights": not settings.get("scale_attn_weights", True)})]),
    decoder(GPTJForCausalLM, {
        "gptj_tiny": dict(
            dtype="bfloat16", vocab_size=97, n_positions=64, max_position_embeddings=64, n_embd=24, n_layer=2, n_head=3,
            n_inner=26, rotary_dim=4, layer_norm_epsilon=0.02, activation_function="gelu_new",
            tie_word_embeddings=False),
    }, further_changes=lambda settings: [("rotary_dim", {**settings, "rotary_dim": 6})]),
    decoder(GPTNeoXForCausalLM, {
        "gpt_neox_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=3, layer_norm_eps=0.02, hidden_act="gelu", use_parallel_residual=True,
            tie_word_embeddings=False, **rope(30.0, partial_rotary_factor=0.5)),
        "gpt_neox_sequential": dict(
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=2, layer_norm_eps=0.02, hidden_act="gelu_new", use_parallel_residual=False,
            attention_bias=False, tie_word_embeddings=False, **rope(50.0, partial_rotary_factor=0.34)),
    }, publish=publish_neox, further_changes=lambda settings: [
        ("use_parallel_residual", {**settings, "use_parallel_residual": not settings["use_parallel_residual"]})]),
]
