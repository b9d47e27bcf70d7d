"""A Llama as a GGUF file: every quantized type in every place, listed rotary factors, interleaved heads."""
import few_bits
import gguf
import numpy as np
import torch


def type_of(kind, name):
    """The list is turned by one from layer to layer."""
    if kind == "few_bits":
        return few_bits.type_of(name)
    kinds = gguf.GGMLQuantizationType
    if "norm" in name or "bias" in name:
        return kinds.F32
    if not name.startswith("model.layers"):
        return kinds.F16 if "embed" in name else kinds.Q8_0
    types = [kinds.Q4_0, kinds.Q4_1, kinds.Q5_0, kinds.Q5_1, kinds.Q8_0, kinds.F16, kinds.BF16]
    place = [f"{part}_proj" for part in "q k v o gate up down".split()].index(name.split(".")[-2])
    return types[(place + int(name.split(".")[2])) % len(types)]


def rounded(kind, name, value):
    kind = type_of(kind, name)
    if few_bits.has_random_codes(kind):
        return few_bits.rounded(name, value, kind)
    return torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(value.numpy(), kind), kind).copy())


def store(kind, model, folder):
    folder.mkdir(parents=True)
    config = model.config
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, value in model.state_dict().items():
        stored = type_of(kind, name)
        blocks = few_bits.BLOCKS[name] if few_bits.has_random_codes(stored) else gguf.quants.quantize(value.numpy(), stored)
        blocks = interleaved(config, name, blocks)
        given = names.get_name(name, (".weight", ".bias"))
        writer.add_tensor(given, blocks, raw_dtype=stored)
        if few_bits.factor_of(name, stored) != 1:
            writer.add_tensor(given.replace(".weight", ".scale"), np.array([few_bits.factor_of(name, stored)]))
            writer.add_tensor(given.replace(".weight", ".input_scale"), np.ones(1, np.float32))  # not used
    standard = 1 / config.rope_parameters["rope_theta"] ** (torch.arange(0, config.head_dim, 2) / config.head_dim)
    writer.add_tensor("rope_freqs.weight", (standard / model.model.rotary_emb.inv_freq).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleaved(config, name, value):
    """GGML rotates neighbors where Transformers rotates halves: rows of queries and keys change places."""
    if "q_proj" not in name and "k_proj" not in name:
        return value
    halves = value.reshape(-1, 2, config.head_dim // 2, *value.shape[1:])
    return halves.swapaxes(1, 2).reshape(value.shape)
