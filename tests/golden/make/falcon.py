"""Falcon of three kinds: 7B (one key/value head, one norm before attention and MLP beside each other), 40B (groups, two
norms) and RW (ALiBi, one after the other)."""
from decoder import decoder, rope
from transformers import FalconForCausalLM

FAMILIES = [decoder(FalconForCausalLM, {
    "falcon_7b": dict(
        dtype="bfloat16", vocab_size=97, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        ffn_hidden_size=26, layer_norm_epsilon=0.02, activation="gelu", tie_word_embeddings=True, **rope(100.0)),
    "falcon_40b": dict(
        dtype="bfloat16", vocab_size=96, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_kv_heads=2,
        new_decoder_architecture=True, ffn_hidden_size=24, layer_norm_epsilon=0.02, activation="gelu",
        tie_word_embeddings=False, **rope(100.0)),
    "falcon_rw": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=30, num_hidden_layers=2, num_attention_heads=5, multi_query=False,
        parallel_attn=False, bias=True, alibi=True, ffn_hidden_size=16, layer_norm_epsilon=0.02, activation="gelu",
        tie_word_embeddings=False),
})]
