"""Ministral: Mistral with windows in some layers. Ministral 3: yarn, and queries that grow with their position."""
from decoder import decoder, rope
from transformers import Ministral3ForCausalLM, MinistralForCausalLM

FAMILIES = [
    decoder(MinistralForCausalLM, {
        "ministral_window": dict(
            dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=18, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, sliding_window=7,
            layer_types=["full_attention", "sliding_attention", "full_attention"], tie_word_embeddings=True,
            **rope(200.0)),
    }),
    decoder(Ministral3ForCausalLM, {
        "ministral3_yarn": dict(
            dtype="bfloat16", vocab_size=97, hidden_size=26, intermediate_size=18, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=10, rms_norm_eps=0.02, tie_word_embeddings=False,
            **rope(50.0, "yarn", factor=4.0, beta_fast=0.9, beta_slow=0.13, mscale=1.4, mscale_all_dim=0.6,
                   original_max_position_embeddings=16, llama_4_scaling_beta=0.3)),
        "ministral3_linear": dict(
            dtype="bfloat16", vocab_size=49, hidden_size=22, intermediate_size=14, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=1, head_dim=8, rms_norm_eps=0.02, tie_word_embeddings=False,
            sliding_window=9, **rope(50.0, "linear", factor=3.0, original_max_position_embeddings=7,
                                     llama_4_scaling_beta=0.6)),
    }),
]
