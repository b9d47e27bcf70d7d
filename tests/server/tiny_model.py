"""Makes a model that costs next to nothing to run, for tests of what surrounds it."""
import array
import json
import pathlib
import random
import shutil

TOKENIZER = pathlib.Path(__file__).resolve().parent.parent / "text/tokenizers/qwen2/tokenizer.json"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 427, "hidden_size": 32,
          "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
          "max_position_embeddings": 16384, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
          "hidden_act": "silu", "eos_token_id": 420}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"


def shapes():
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    heads, kv_heads = (CONFIG[name] * CONFIG["head_dim"] for name in ("num_attention_heads", "num_key_value_heads"))
    layer = "model.layers.0."
    return {"model.embed_tokens.weight": (CONFIG["vocab_size"], hidden), "model.norm.weight": (hidden,),
            layer + "input_layernorm.weight": (hidden,), layer + "post_attention_layernorm.weight": (hidden,),
            layer + "self_attn.q_proj.weight": (heads, hidden), layer + "self_attn.k_proj.weight": (kv_heads, hidden),
            layer + "self_attn.v_proj.weight": (kv_heads, hidden), layer + "self_attn.o_proj.weight": (hidden, heads),
            layer + "mlp.gate_proj.weight": (inner, hidden), layer + "mlp.up_proj.weight": (inner, hidden),
            layer + "mlp.down_proj.weight": (hidden, inner)}


def write_tiny_model(folder):
    """Writes a Llama of one layer with random weights, the same each time, into an empty folder, which it returns."""
    folder = pathlib.Path(folder)
    chance = random.Random(1)
    header, data = {}, b""
    for name, shape in shapes().items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        numbers = array.array("f", (chance.gauss(1 if len(shape) == 1 else 0, 0.2) for _ in range(count))).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    shutil.copy(TOKENIZER, folder)
    return folder
