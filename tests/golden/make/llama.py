"""Llama: the rotary scalings, biases, number formats and spellings. Its draw serves the families built like it."""
import gguf_file
from draws import draw_transformer, standard_neutrals
from transformers import LlamaConfig, LlamaForCausalLM

ARCHITECTURE = LlamaForCausalLM
PROMPTS = [dict(tokens=5, new=10), dict(tokens=17, new=10), dict(tokens=42, new=72)]
FEW = [dict(tokens=3, new=4), dict(tokens=17, new=12)]

SHARED = dict(
    vocab_size=131, hidden_size=42, intermediate_size=60, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=2, head_dim=12, max_position_embeddings=256, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2)

MODELS = {
    "llama_default": dict(tie_word_embeddings=True),
    "llama_linear": dict(
        attention_bias=True, mlp_bias=True, vocab_size=157,
        rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0)),
    "llama_llama3": dict(
        attention_bias=True, head_dim=20, hidden_size=36, num_attention_heads=3, num_key_value_heads=1,
        rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=48)),
    "llama_yarn": dict(
        tie_word_embeddings=True, vocab_size=170,
        rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0, beta_fast=3.0, beta_slow=0.6,
                             original_max_position_embeddings=64)),
    "llama_yarn_scaled": dict(
        mlp_bias=True, hidden_size=45, head_dim=16, num_attention_heads=5, num_key_value_heads=5, num_hidden_layers=2,
        rope_parameters=dict(rope_type="yarn", rope_theta=1000.0, factor=8.0, beta_fast=2.0, beta_slow=0.25, mscale=1.3,
                             mscale_all_dim=0.6, truncate=False, original_max_position_embeddings=32)),
    "llama_bfloat16": dict(dtype="bfloat16", hidden_size=54, num_hidden_layers=4, intermediate_size=84),
    "llama_one": dict(
        dtype="bfloat16", prompts=FEW, vocab_size=61, hidden_size=17, intermediate_size=13, num_hidden_layers=1,
        num_attention_heads=1, num_key_value_heads=1, head_dim=6),
    "llama_published": dict(
        published=True, shards="120KB", head_dim=None, hidden_size=56, num_attention_heads=7, num_key_value_heads=1,
        rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0,
                             high_freq_factor=3.0, original_max_position_embeddings=64)),
    "llama_fp8": dict(
        quantized="fp8", dtype="bfloat16", prompts=FEW, hidden_size=128, intermediate_size=272, num_hidden_layers=2,
        head_dim=20, num_attention_heads=8),
    "llama_compressed": dict(
        quantized="compressed", dtype="bfloat16", prompts=FEW, attention_bias=True, hidden_size=128, intermediate_size=96,
        num_hidden_layers=2, head_dim=16, num_attention_heads=4, tie_word_embeddings=True),
    "llama_nvfp4": dict(
        quantized="nvfp4", dtype="bfloat16", prompts=FEW, hidden_size=128, intermediate_size=96, num_hidden_layers=2,
        head_dim=32, num_attention_heads=4),
    "llama_gguf": dict(
        gguf="blocks_of_32", attention_bias=True, hidden_size=96, intermediate_size=64, head_dim=16,
        rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=48)),
    "llama_few_bits_gguf": dict(
        gguf="few_bits", prompts=FEW, hidden_size=256, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        head_dim=64,
        rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=48)),
}


def configuration(settings):
    own = {"tie_word_embeddings": False, **SHARED, **settings}
    if own["head_dim"] is None:
        del own["head_dim"]
    return LlamaConfig(**own)


draw = draw_transformer
neutrals = standard_neutrals


def changes(settings):
    rope = settings.get("rope_parameters", {})
    for key in [k for k in rope if k not in ("rope_type", "rope_theta")]:
        value = rope[key]
        other = not value if isinstance(value, bool) else value * 2
        yield key, {**settings, "rope_parameters": {**rope, key: other}}
    if rope:
        plain = dict(rope_type="default", rope_theta=rope["rope_theta"])
        yield "rope_type", {**settings, "rope_parameters": plain}


def publish(config, settings):
    """No head_dim, and rope_scaling beside rope_theta."""
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope
    del config["head_dim"]


rounded_by_gguf = gguf_file.rounded
store_as_gguf = gguf_file.store
