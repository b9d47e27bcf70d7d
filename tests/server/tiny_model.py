"""Makes a model that costs next to nothing to run, for tests of what surrounds it."""
import array
import json
import pathlib
import random

TOKENIZER = pathlib.Path(__file__).resolve().parent.parent / "text/tokenizers/qwen2/tokenizer.json"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 427, "hidden_size": 32,
          "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
          "max_position_embeddings": 16384, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
          "hidden_act": "silu", "eos_token_id": 420}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"


LAYER = "model.layers.0."


def write_model(folder, config, tensors, tokenizer=None, template=TEMPLATE):
    """Writes a Llama of one layer into an empty folder, which it returns. `tensors`: shapes and their numbers, by name."""
    folder = pathlib.Path(folder)
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        numbers = numbers.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer or read_tokenizer()), encoding="utf-8")
    return folder


def read_tokenizer(*added):
    """The tokenizer of these models, with further tokens."""
    tokenizer = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    for content in added:
        token = tokenizer["added_tokens"][0] | {"id": size_of(tokenizer), "content": content}
        tokenizer["added_tokens"].append(token)
    return tokenizer


def size_of(tokenizer):
    return len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"])


def shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv_heads = (config[name] * config["head_dim"] for name in ("num_attention_heads", "num_key_value_heads"))
    return {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,),
            LAYER + "input_layernorm.weight": (hidden,), LAYER + "post_attention_layernorm.weight": (hidden,),
            LAYER + "self_attn.q_proj.weight": (heads, hidden), LAYER + "self_attn.k_proj.weight": (kv_heads, hidden),
            LAYER + "self_attn.v_proj.weight": (kv_heads, hidden), LAYER + "self_attn.o_proj.weight": (hidden, heads),
            LAYER + "mlp.gate_proj.weight": (inner, hidden), LAYER + "mlp.up_proj.weight": (inner, hidden),
            LAYER + "mlp.down_proj.weight": (hidden, inner)}


def numbers_of(shape, number):
    return array.array("f", (number() for _ in range(shape[0] * (shape[1] if len(shape) > 1 else 1))))


def write_tiny_model(folder):
    """A model with random weights, the same each time."""
    chance = random.Random(1)
    tensors = {name: (shape, numbers_of(shape, lambda: chance.gauss(1 if len(shape) == 1 else 0, 0.2)))
               for name, shape in shapes(CONFIG).items()}
    return write_model(folder, CONFIG, tensors)


def write_chain(folder, follows, otherwise, tokenizer=None, padding=0, template=TEMPLATE):
    """A model whose next token depends on the last one alone: `follows[token]`, or `otherwise` after all others. It has
    `padding` rows more than tokens. Its layer adds nothing."""
    tokenizer = tokenizer or read_tokenizer()
    size = size_of(tokenizer) + padding
    config = CONFIG | {"vocab_size": size, "hidden_size": size, "intermediate_size": 4, "num_attention_heads": 1, "head_dim": 4,
                       "tie_word_embeddings": False}
    tensors = {name: (shape, numbers_of(shape, lambda: float(len(shape) == 1))) for name, shape in shapes(config).items()}
    shape, embedding = tensors["model.embed_tokens.weight"]
    head = array.array("f", embedding)
    for token in range(size):
        embedding[token * size + token] = 1.0
        head[follows.get(token, otherwise) * size + token] = 1.0
    return write_model(folder, config, tensors | {"lm_head.weight": (shape, head)}, tokenizer, template)
