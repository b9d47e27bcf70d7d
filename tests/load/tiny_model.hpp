#pragma once

#include "gguf_draft.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Floats as bytes.
inline std::string raw_floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += raw(value);
  return bytes;
}

/// `first`, `first` + 1, … as bytes.
inline std::string counting_floats(std::size_t count, float first = 0) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return raw_floats(values);
}

/// A file of that architecture, with two layers of 4 heads, and these entries and tensors of one number.
inline gguf_draft two_layers_of(const std::string& architecture, std::uint32_t hidden,
                                const std::vector<std::string>& more, const std::vector<std::string>& tensors) {
  const auto own = [&](const std::string& key) { return architecture + "." + key; };
  gguf_draft draft;
  draft.entries = {entry_text("general.architecture", architecture),
                   entry_u32(own("block_count"), 2),
                   entry_u32(own("context_length"), 64),
                   entry_u32(own("embedding_length"), hidden),
                   entry_u32(own("feed_forward_length"), 12),
                   entry_u32(own("attention.head_count"), 4),
                   entry_u32(own("vocab_size"), 3)};
  draft.entries.insert(draft.entries.end(), more.begin(), more.end());
  for (const auto& name : tensors) draft.add(name, {1}, 0, raw_floats({1}));
  return draft;
}

/// The metadata of a Llama of one layer, hidden 8, 2 heads of 4, 1 key/value head, vocabulary 3.
inline std::vector<std::string> tiny_llama_entries() {
  return {entry_text("general.architecture", "llama"),
          entry_u32("llama.block_count", 1),
          entry_u32("llama.context_length", 64),
          entry_u32("llama.embedding_length", 8),
          entry_u32("llama.feed_forward_length", 12),
          entry_u32("llama.attention.head_count", 2),
          entry_u32("llama.attention.head_count_kv", 1),
          entry_f32("llama.attention.layer_norm_rms_epsilon", 1e-5F),
          entry_f32("llama.rope.freq_base", 5000),
          entry_u32("llama.vocab_size", 3),
          entry_text("tokenizer.ggml.model", "gpt2"),
          entry_text("tokenizer.ggml.pre", "smollm"),
          entry_texts("tokenizer.ggml.tokens", {"a", "b", "ab"}),
          entry_array("tokenizer.ggml.token_type", 5, 3, raw(1) + raw(1) + raw(3)),
          entry_texts("tokenizer.ggml.merges", {"a b"}),
          entry_u32("tokenizer.ggml.bos_token_id", 1),
          entry_u32("tokenizer.ggml.eos_token_id", 2),
          entry_bool("tokenizer.ggml.add_bos_token", true),
          entry_text("tokenizer.chat_template", "{{ messages[0].content }}")};
}

/// That Llama with tied embeddings. Matrices count up from 0, in the file's order of rows.
inline gguf_draft tiny_llama() {
  gguf_draft draft;
  draft.entries = tiny_llama_entries();
  const auto add = [&](std::string name, std::size_t rows, std::size_t columns) {
    draft.add(std::move(name), {columns, rows}, 0, counting_floats(rows * columns));
  };
  add("token_embd.weight", 3, 8);
  draft.add("output_norm.weight", {8}, 0, counting_floats(8, 1));
  draft.add("blk.0.attn_norm.weight", {8}, 0, counting_floats(8, 1));
  add("blk.0.attn_q.weight", 8, 8);
  add("blk.0.attn_k.weight", 4, 8);
  add("blk.0.attn_v.weight", 4, 8);
  add("blk.0.attn_output.weight", 8, 8);
  draft.add("blk.0.ffn_norm.weight", {8}, 0, counting_floats(8, 1));
  add("blk.0.ffn_gate.weight", 12, 8);
  add("blk.0.ffn_up.weight", 12, 8);
  add("blk.0.ffn_down.weight", 8, 12);
  return draft;
}
