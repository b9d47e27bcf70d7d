"""M2M-100: Pegasus' layers, with sinusoids that no file holds and that begin behind the padding's row."""
from bart import neutrals
from pegasus import draw_with_norms_before
from transformers import M2M100Config, M2M100ForConditionalGeneration

ARCHITECTURE = M2M100ForConditionalGeneration
PROMPTS = [dict(tokens=5, decoder=1, new=10), dict(tokens=17, decoder=4, new=10), dict(tokens=42, decoder=9, new=30)]
SHORT = [dict(tokens=42, decoder=3, new=6), dict(tokens=17, decoder=8, new=30)]

MODELS = {
    "m2m_100_published": dict(
        published=True, dtype="bfloat16", vocab_size=131, d_model=30, encoder_layers=3, encoder_attention_heads=3,
        encoder_ffn_dim=44, decoder_layers=2, decoder_attention_heads=5, decoder_ffn_dim=38,
        max_position_embeddings=96),
    "m2m_100_plain": dict(
        dtype="bfloat16", prompts=SHORT, vocab_size=128, d_model=24, encoder_layers=1, encoder_attention_heads=6,
        encoder_ffn_dim=30, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=50,
        max_position_embeddings=64, scale_embedding=False, activation_function="gelu", pad_token_id=2,
        decoder_start_token_id=7),
}


def configuration(settings):
    return M2M100Config(**settings)


def draw(model, normal):
    draw_with_norms_before(model, normal)


def changes(settings):
    yield "scale_embedding", {**settings, "scale_embedding": not settings.get("scale_embedding", True)}
    yield "activation_function", {**settings, "activation_function": "gelu_new"}
    yield "pad_token_id", {**settings, "pad_token_id": 0}


def publish(config, settings):
    """What the hub's files carry beside."""
    del config["tie_word_embeddings"]
    config.update(num_hidden_layers=config["encoder_layers"], early_stopping=True, max_length=200, num_beams=5)
