"""Llama with LayerNorm: StableLM, StarCoder 2 and Nemotron."""
from decoder import decoder, draw_decoder, keep_only, publish_rope, rope
from transformers import NemotronForCausalLM, StableLmForCausalLM, Starcoder2ForCausalLM
import torch


def draw_nemotron(model, normal):
    """Its norms add 1 to their weights."""
    draw_decoder(model, normal, norm=0.0, norm_offset=1.0)


def nemotron_neutrals(name, value):
    return [torch.zeros_like(value)]


def publish(config, settings):
    publish_rope(config)
    keep_only(config, "attention_bias attention_dropout hidden_act hidden_dropout intermediate_size layer_norm_eps "
              "num_key_value_heads partial_rotary_factor qk_layernorm rope_scaling use_parallel_residual use_qkv_bias "
              "attention_dropout embedding_dropout mlp_bias norm_eps norm_epsilon residual_dropout sliding_window "
              "use_bias")


FAMILIES = [
    decoder(StableLmForCausalLM, {
        "stablelm_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, layer_norm_eps=0.02, use_qkv_bias=True,
            tie_word_embeddings=False, **rope(30.0, partial_rotary_factor=0.5)),
        "stablelm_parallel": dict(  # LayerNorms of each query and key head
            dtype="bfloat16", vocab_size=96, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, layer_norm_eps=0.02, use_parallel_residual=True,
            qk_layernorm=True, tie_word_embeddings=False, **rope(30.0, partial_rotary_factor=0.75)),
    }, publish=publish),
    decoder(Starcoder2ForCausalLM, {
        "starcoder2_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=26, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, norm_epsilon=0.02, sliding_window=7, use_bias=True,
            hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True, **rope(200.0)),
    }, publish=publish),
    decoder(NemotronForCausalLM, {
        "nemotron_published": dict(
            published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=26, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, norm_eps=0.02, hidden_act="relu2",
            tie_word_embeddings=False, **rope(60.0, partial_rotary_factor=0.5)),
    }, draw=draw_nemotron, neutrals=nemotron_neutrals, publish=publish),
]
