"""Bloom and MPT: no positions, but scores that fall with the distance. Their slopes differ where heads are no power of
two."""
from decoder import decoder, draw_decoder
from transformers import BloomForCausalLM, MptForCausalLM


def draw_bloom(model, normal):
    """Its embeddings are as large as their norm says."""
    draw_decoder(model, normal)
    norm = model.transformer.word_embeddings_layernorm
    norm.weight.mul_(0.3)
    norm.bias.mul_(0.3)


def publish_bloom(config, settings):
    del config["max_position_embeddings"], config["tie_word_embeddings"]
    config.update(n_embed=config.pop("hidden_size"), num_attention_heads=config.pop("n_head"), n_inner=None,
                  offset_alibi=100, seq_length=2048, attention_softmax_in_fp32=True, masked_softmax_fusion=True)


FAMILIES = [
    decoder(BloomForCausalLM, {
        "bloom_published": dict(
            published=True, bare=True, dtype="bfloat16", vocab_size=97, hidden_size=20, n_layer=2, n_head=5,
            layer_norm_epsilon=0.02, tie_word_embeddings=True),
    }, draw=draw_bloom, publish=publish_bloom),
    decoder(MptForCausalLM, {
        "mpt_clipped": dict(
            dtype="bfloat16", vocab_size=97, d_model=20, n_heads=5, n_layers=2, max_seq_len=64,
            max_position_embeddings=64, layer_norm_epsilon=0.02, tie_word_embeddings=True,
            attn_config=dict(clip_qkv=1.3)),
    }, further_changes=lambda settings: [("clip_qkv", {**settings, "attn_config": dict(clip_qkv=None)})]),
]
