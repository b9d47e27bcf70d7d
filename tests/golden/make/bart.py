"""BART: an encoder, and a decoder that attends to its output."""
import math

from draws import is_norm, matrix, standard_neutrals, vector
from transformers import BartConfig, BartForConditionalGeneration

ARCHITECTURE = BartForConditionalGeneration
PROMPTS = [dict(tokens=5, decoder=1, new=10), dict(tokens=17, decoder=4, new=10), dict(tokens=42, decoder=9, new=72)]
SHORT = [dict(tokens=42, decoder=3, new=6, beams=dict(width=4, count=9)), dict(tokens=17, decoder=8, new=30)]

SHARED = dict(
    vocab_size=128, d_model=30, encoder_layers=3, encoder_attention_heads=3, encoder_ffn_dim=44, decoder_layers=2,
    decoder_attention_heads=5, decoder_ffn_dim=38, max_position_embeddings=96, forced_eos_token_id=None)

MODELS = {
    "bart_tiny": dict(dtype="bfloat16"),
    "bart_scaled": dict(
        published=True, dtype="bfloat16", prompts=SHORT, scale_embedding=True, vocab_size=137, d_model=24,
        encoder_layers=1, encoder_attention_heads=6, encoder_ffn_dim=30, decoder_attention_heads=2,
        decoder_ffn_dim=50, max_position_embeddings=64),
    "bart_untied": dict(
        dtype="bfloat16", prompts=SHORT, scale_embedding=True, tie_word_embeddings=False, d_model=20, encoder_layers=2,
        encoder_attention_heads=5, decoder_layers=1, decoder_attention_heads=10, activation_function="relu",
        decoder_start_token_id=7, max_position_embeddings=64),
}


def configuration(settings):
    return BartConfig(**{**SHARED, **settings})


def draw(model, normal):
    draw_layers(model, normal)
    draw_tables(model, normal)


def draw_layers(model, normal):
    """Sharp attention, small biases and large positions: else what all positions share drowns what each is about, and
    the continuation is one token for ever."""
    for name, value in model.named_parameters():
        if is_norm(name):
            vector(normal, value, 1.0)
        elif value.dim() == 1:
            vector(normal, value, 0.0, 0.1)
        else:
            matrix(normal, value, gain_of(name))


def gain_of(name):
    if "q_proj" in name or "k_proj" in name or "fc" in name:
        return 2.5
    return 0.6


def draw_tables(model, normal):
    """Scaled or not, a token is a third of its position when they are added."""
    config = model.config
    size = 2 / math.sqrt(config.d_model)
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    vector(normal, model.final_logits_bias, 0.0, 0.3)
    encoder, decoder = model.model.encoder, model.model.decoder
    tables = [model.model.shared, encoder.embed_tokens, decoder.embed_tokens, model.lm_head]
    for table in tables[:1] if config.tie_word_embeddings else tables:
        vector(normal, table.weight, 0.0, size)
    for half in (encoder, decoder):
        vector(normal, half.embed_positions.weight, 0.0, 3 * size * scale)


def neutrals(name, value):
    """A bias of all keys alike moves all scores of a query alike: nobody can see it. Nor a table nobody reads."""
    if name.endswith("k_proj.bias") or name == "model.shared.weight":
        return []
    return standard_neutrals(name, value)


def changes(settings):
    yield "scale_embedding", {**settings, "scale_embedding": not settings.get("scale_embedding", False)}
    yield "activation_function", {**settings, "activation_function": "gelu_new"}


def publish(config, settings):
    """What the hub's files carry beside."""
    del config["tie_word_embeddings"]
    config.update(num_hidden_layers=config["encoder_layers"], normalize_before=False, normalize_embedding=True,
                  add_final_layer_norm=False, add_bias_logits=False, static_position_embeddings=False,
                  extra_pos_embeddings=2)
