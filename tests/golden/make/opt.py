"""OPT: learned positions from the third row of their table, ReLU. The 350m kind has narrower embeddings, and norms
after attention and MLP."""
from decoder import decoder, draw_decoder
from draws import standard_neutrals, vector
from transformers import OPTForCausalLM


def draw(model, normal):
    stack = model.model.decoder
    draw_decoder(model, normal, last=(stack.project_out or stack.final_layer_norm).weight)
    vector(normal, stack.embed_positions.weight, 0.0, 0.6)


def neutrals(name, value):
    """A bias of the keys adds the same to all scores of a query, which softmax cancels."""
    return [] if name.endswith("k_proj.bias") else standard_neutrals(name, value)


FAMILIES = [decoder(OPTForCausalLM, {
    "opt_tiny": dict(
        dtype="bfloat16", vocab_size=97, max_position_embeddings=56, hidden_size=24, num_hidden_layers=2,
        num_attention_heads=3, ffn_dim=24, word_embed_proj_dim=24, tie_word_embeddings=True),
    "opt_350m": dict(
        dtype="bfloat16", vocab_size=98, max_position_embeddings=56, hidden_size=24, num_hidden_layers=2,
        num_attention_heads=3, ffn_dim=20, word_embed_proj_dim=18, do_layer_norm_before=False,
        tie_word_embeddings=True),
    "opt_plain_norms": dict(
        dtype="bfloat16", vocab_size=48, max_position_embeddings=56, hidden_size=20, num_hidden_layers=2,
        num_attention_heads=2, ffn_dim=18, word_embed_proj_dim=14, layer_norm_elementwise_affine=False,
        tie_word_embeddings=True),
}, draw=draw, neutrals=neutrals)]
