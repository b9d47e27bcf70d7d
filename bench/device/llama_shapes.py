"""Shapes of Llama models, as Transformers' LlamaConfig names them; the same as in random_model.cpp, and a tiny one."""

SHAPES = {
    "tiny": dict(vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 head_dim=16, intermediate_size=128, max_position_embeddings=1024, tie_word_embeddings=False),
    "135m": dict(vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                 head_dim=64, intermediate_size=1536, max_position_embeddings=8192, tie_word_embeddings=True),
    "1b": dict(vocab_size=128256, hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
               head_dim=64, intermediate_size=8192, max_position_embeddings=131072, tie_word_embeddings=True),
    "8b": dict(vocab_size=128256, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
               head_dim=128, intermediate_size=14336, max_position_embeddings=131072, tie_word_embeddings=False),
}
ROTATION_BASE = 500000.0
NORM_EPSILON = 1e-5
