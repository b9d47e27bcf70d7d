"""What the decoder-only families share: prompts, a draw, and which settings to change to see that each counts."""
import copy
import dataclasses
import math
from collections.abc import Callable

from draws import is_norm, matrix, standard_neutrals, vector

PROMPTS = [dict(tokens=3, new=2), dict(tokens=7, new=2), dict(tokens=10, new=40)]
STEADY = 0.25  # the most that rounding activations to bfloat16 moves a logit by; golden_check allows 0.4
IDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=None)
ACTIVATIONS = dict(  # what each is most easily taken for
    silu="gelu", gelu="gelu_new", gelu_new="gelu", gelu_pytorch_tanh="gelu_python", relu="gelu", relu2="relu")


def rope(theta, rope_type="default", **others):
    return dict(rope_parameters=dict(rope_type=rope_type, rope_theta=theta, **others))


@dataclasses.dataclass
class decoder:
    """A family for folder.make: its models, and what it does differently from Llama."""
    ARCHITECTURE: type
    MODELS: dict
    draw: Callable = None
    publish: Callable = None
    publish_tensors: Callable = None
    neutrals: Callable = standard_neutrals
    further_changes: Callable = lambda settings: ()
    STEADY: float = STEADY
    LOADING: dict = dataclasses.field(default_factory=dict)
    PROMPTS: list = dataclasses.field(default_factory=lambda: PROMPTS)

    def __post_init__(self):
        self.draw = self.draw or draw_decoder

    def configuration(self, settings):
        settings = copy.deepcopy(settings)  # Transformers writes into it
        return self.ARCHITECTURE.config_class(
            **self.LOADING, **{"max_position_embeddings": 256, **IDS, **settings})

    def changes(self, settings):
        """Without those in `unseen`, which show only in a text of another length."""
        for key, value in settings.items():
            for label, other in alternatives(key, value):
                if label not in settings.get("unseen", ()):
                    yield label, {**settings, key: other}
        yield from self.further_changes(settings)


def alternatives(key, value):
    """(label, value) of what a setting may be misread as; nothing if tensors' shapes depend on it."""
    if key == "rope_parameters":
        yield from rope_alternatives(value)
    elif key == "sliding_window" and value:
        for other in (value - 1, value + 1, 4096):
            yield f"{key} {other}", other
    elif key in ("layer_types", "no_rope_layers") and not set(value) & {"conv", "linear_attention"}:
        for index, kind in enumerate(value):
            yield f"{key}[{index}]", value[:index] + [opposite(kind, value)] + value[index + 1:]
    elif isinstance(value, str) and value in ACTIVATIONS:
        yield f"{key} (activation)", ACTIVATIONS[value]
    elif "eps" in key:
        yield key, 1e-5
    elif isinstance(value, float):
        yield key, value * 2


def opposite(kind, kinds):
    if isinstance(kind, int):
        return 1 - kind
    other = "chunked_attention" if "chunked_attention" in kinds else "sliding_attention"
    return other if kind == "full_attention" else "full_attention"


def rope_alternatives(parameters):
    if "rope_type" not in parameters:  # one for each kind of layer
        for kind, inner in parameters.items():
            for label, other in rope_alternatives(inner):
                yield f"{kind} {label}", {**parameters, kind: other}
        return
    for key, value in parameters.items():
        if key == "rope_type" or key.startswith("mrope"):  # the latter is for images
            continue
        if key == "partial_rotary_factor":
            other = 1.0
        elif isinstance(value, list):
            other = [2 * v for v in value]
        elif isinstance(value, bool):
            other = not value
        else:
            other = value * 2
        yield key, {**parameters, key: other}


def draw_decoder(model, normal, norm=1.0, **ends):
    """Norms and biases far from trivial, attention scores far from even, logits with a standard deviation of 2."""
    for name, value in model.named_parameters():
        draw_part(normal, name, value, norm)
    draw_ends(model, normal, **ends)


def draw_part(normal, name, value, norm):
    if is_norm(name):
        vector(normal, value, norm)
    elif value.dim() == 1:
        vector(normal, value)
    else:
        matrix(normal, value, 1.7 if is_query_or_key(name) else 1.2)


def is_query_or_key(name):
    """Also of a matrix that holds queries, keys and values."""
    return any(part in name for part in ("q_proj", "k_proj", "qkv", "query_key_value", "c_attn"))


def draw_ends(model, normal, embedding_scale=1.0, logit_scale=1.0, norm_offset=0.0, last=None):
    """Embeddings are as large as other matrices' output once they are scaled. Where the embedding is the head as well,
    it is smaller and the last norm large: else each token calls itself."""
    tied = model.config.tie_word_embeddings
    size = (0.3 if tied else 1.0) / embedding_scale
    embedding = model.get_input_embeddings().weight
    embedding.copy_(normal(embedding.shape) * size)
    reach = math.sqrt(embedding.shape[1]) * logit_scale
    if tied:
        last = last_norm(model).weight if last is None else last
        last.copy_((last + norm_offset) * 2 / (size * reach) - norm_offset)
    else:
        head = model.get_output_embeddings().weight
        head.copy_(normal(head.shape) * 2 / reach)


def last_norm(model):
    names = ("norm", "final_layernorm", "final_layer_norm", "ln_f", "norm_f", "embedding_norm")
    inner = model.model if model.base_model is model else model.base_model
    return next(getattr(inner, name) for name in names if hasattr(inner, name))


def publish_rope(config):
    """rope_theta and rope_scaling beside each other, as before version 5."""
    parameters = config.pop("rope_parameters")
    config["rope_theta"] = parameters.pop("rope_theta")
    if "partial_rotary_factor" in parameters:
        config["partial_rotary_factor"] = parameters.pop("partial_rotary_factor")
    config["rope_scaling"] = parameters if parameters["rope_type"] != "default" else None


def keep_only(config, keys):
    """Drops what only newer versions write."""
    keys = set(keys.split()) | {
        "architectures", "model_type", "dtype", "transformers_version", "vocab_size", "hidden_size",
        "num_hidden_layers", "num_attention_heads", "max_position_embeddings", "initializer_range", "use_cache",
        "bos_token_id", "eos_token_id", "tie_word_embeddings", "rope_theta"}
    for key in set(config) - keys:
        del config[key]
