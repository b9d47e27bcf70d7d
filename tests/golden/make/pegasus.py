"""Pegasus: BART with norms before each half of a layer, and sinusoids as positions, which a file may hold."""
import math

from bart import SHORT, draw_layers, neutrals
from draws import vector
from transformers import PegasusConfig, PegasusForConditionalGeneration

ARCHITECTURE = PegasusForConditionalGeneration
PROMPTS = [dict(tokens=5, decoder=1, new=10), dict(tokens=17, decoder=4, new=10), dict(tokens=42, decoder=9, new=30)]

MODELS = {
    "pegasus_published": dict(
        published=True, vocab_size=131, d_model=30, encoder_layers=3, encoder_attention_heads=3, encoder_ffn_dim=44,
        decoder_layers=2, decoder_attention_heads=5, decoder_ffn_dim=38, max_position_embeddings=96,
        activation_function="relu", scale_embedding=True),
    "pegasus_table": dict(
        dtype="bfloat16", prompts=SHORT, vocab_size=128, d_model=24, encoder_layers=1, encoder_attention_heads=6,
        encoder_ffn_dim=30, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=50,
        max_position_embeddings=64, decoder_start_token_id=7),
}


def configuration(settings):
    return PegasusConfig(**{"forced_eos_token_id": None, **settings})


def draw(model, normal):
    """A table that a file holds is not the one that could be computed."""
    draw_with_norms_before(model, normal)
    vector(normal, model.final_logits_bias, 0.0, 0.3)
    for half in (model.model.encoder, model.model.decoder):
        positions = half.embed_positions
        positions.weight.copy_(positions.create_weight())
        if not model.config.scale_embedding:
            vector(normal, positions.weight, 0.0, 0.7)


def draw_with_norms_before(model, normal):
    """A token is little of what the layers add to it, and the last norm large: else each token calls itself."""
    draw_layers(model, normal)
    for name, value in model.named_parameters():
        if any(part in name for part in ("v_proj.weight", "out_proj.weight", "fc2.weight")):
            value.mul_(2)
    config = model.config
    size = 0.4 / math.sqrt(config.d_model) if config.scale_embedding else 0.4
    vector(normal, model.model.shared.weight, 0.0, size)
    model.model.decoder.layer_norm.weight.mul_(2 / (size * math.sqrt(config.d_model)))


def changes(settings):
    yield "scale_embedding", {**settings, "scale_embedding": not settings.get("scale_embedding", False)}
    yield "activation_function", {**settings, "activation_function": "gelu_new"}


def publish_tensors(tensors):
    return {name: value for name, value in tensors.items() if "embed_positions" not in name}


def publish(config, settings):
    """What the hub's files carry beside."""
    del config["tie_word_embeddings"]
    config.update(num_hidden_layers=config["encoder_layers"], normalize_before=True, normalize_embedding=False,
                  add_final_layer_norm=True, add_bias_logits=False, static_position_embeddings=True,
                  extra_pos_embeddings=1)
