"""T5: relative positions in buckets, which the first layer of each half has for all, and RMS norms; version 1.1 with
gates and a head of its own."""
import math
import types

from draws import is_norm, matrix, standard_neutrals, vector
from transformers import T5Config, T5ForConditionalGeneration

PROMPTS = [dict(tokens=5, decoder=1, new=10), dict(tokens=17, decoder=4, new=10), dict(tokens=42, decoder=9, new=30)]
SHORT = [dict(tokens=42, decoder=3, new=6, beams=dict(width=4, count=9)), dict(tokens=17, decoder=8, new=30)]


class WithHead(T5ForConditionalGeneration):
    """As the hub's files of version 1.1 are, which T5Config of these days would tie."""
    _tied_weights_keys = {
        "encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"}


WithHead.__name__ = "T5ForConditionalGeneration"

TIED = {
    "t5_published": dict(
        published=True, dtype="bfloat16", vocab_size=131, d_model=30, d_kv=8, d_ff=44, num_layers=3, num_heads=3,
        relative_attention_num_buckets=12, relative_attention_max_distance=20, layer_norm_epsilon=0.02),
}
UNTIED = {
    "t5_gated": dict(
        published=True, dtype="bfloat16", prompts=SHORT, vocab_size=128, d_model=24, d_kv=5, d_ff=38, num_layers=2,
        num_decoder_layers=1, num_heads=4, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        relative_attention_num_buckets=8, relative_attention_max_distance=128, layer_norm_epsilon=0.02,
        decoder_start_token_id=7),
}


def configuration(settings):
    return T5Config(**{"decoder_start_token_id": 0, **settings})


def draw(model, normal):
    """Scores are not scaled, so queries are small; a token is little of what the layers add to it."""
    config = model.config
    for name, value in model.named_parameters():
        if is_norm(name):
            vector(normal, value, 1.0)
        elif "relative_attention_bias" in name:
            vector(normal, value, 0.0, 1.5)
        else:
            matrix(normal, value, 1.2)
        if name.endswith(".q.weight"):
            value.mul_(2 / math.sqrt(config.d_kv))
    vector(normal, model.shared.weight, 0.0, 0.4)
    size = 0.4 / math.sqrt(config.d_model) if config.scale_decoder_outputs else 1 / math.sqrt(config.d_model)
    if not config.scale_decoder_outputs:
        vector(normal, model.lm_head.weight, 0.0, 2 * size)
    else:
        model.decoder.final_layer_norm.weight.mul_(2 / (size * math.sqrt(config.d_model)))


def neutrals(name, value):
    """Buckets all alike move all scores of a query alike."""
    if name == "shared.weight" or "embed_tokens" in name:
        return []
    return standard_neutrals(name, value)


def changes(settings):
    gated = "gated" in settings.get("feed_forward_proj", "relu")
    yield "activation", {**settings, "feed_forward_proj": "gated-silu" if gated else "gelu"}
    yield "num_buckets' distance", {
        **settings, "relative_attention_max_distance": 2 * settings["relative_attention_max_distance"]}
    yield "layer_norm_epsilon", {**settings, "layer_norm_epsilon": 0.2}


def publish(config, settings):
    """What the hub's files carry beside."""
    for key in ("scale_decoder_outputs", "dense_act_fn", "is_gated_act", "tie_word_embeddings"):
        config.pop(key, None)
    if not settings.get("tie_word_embeddings", True):
        config["tie_word_embeddings"] = False
    config.update(n_positions=512, output_past=True, architectures=["T5ForConditionalGeneration"])


def family(architecture, models):
    return types.SimpleNamespace(ARCHITECTURE=architecture, MODELS=models, PROMPTS=PROMPTS, configuration=configuration,
                                 draw=draw, neutrals=neutrals, changes=changes, publish=publish)


FAMILIES = [family(T5ForConditionalGeneration, TIED), family(WithHead, UNTIED)]
