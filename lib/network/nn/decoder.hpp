#pragma once

#include "network/models/model_spec.hpp"
#include "network/models/pipeline_stage.hpp"
#include "network/nn/blocks.hpp"
#include "network/nn/kept_sinks.hpp"
#include "network/nn/network.hpp"
#include "network/nn/pooler.hpp"
#include "network/nn/text_memory.hpp"
#include "network/nn/weight_bytes.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::nn {

/// A network of the forms of a backend B: the parts of its decoder, and of its encoder if it has one, and the order in
/// which they run. Operators, of the processor or of a device, do the work of one pass.
template <class B>
class decoder : public network {
 public:
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept final { return specs_; }
  bool generates() const noexcept final { return generates_; }
  const pooler* pooling() const noexcept final { return pooler_ ? &*pooler_ : nullptr; }
  bool has_encoder() const noexcept final { return encoder_.has_value(); }
  bool has_position_table() const noexcept final { return has_position_table_; }
  std::int64_t weight_bytes() const noexcept override {
    return bytes_of(blocks_) + B::bytes(norm_) + (head_ ? B::bytes(head_->product) : 0);
  }

 protected:
  using rows = typename B::rows;

  /// Which of its parts a process has.
  struct extent {
    bool first = true;  ///< it reads tokens
    bool last = true;   ///< it makes logits
  };

  struct encoder {
    parts::embedding<B> embedding;
    blocks<B> stack;
    typename B::norm norm;
    cache::kv_cache_spec memory;  // of one layer
  };

  /// Reads the parts in the order in which they run. Throws as the reader does.
  template <class Reader>
  decoder(const models::model_spec& spec, const load::model_config& config, Reader&& read,
          const weights::read_numbers& numbers, extent own)
      : hidden_(config.hidden),
        encoder_(spec.encoder ? std::optional(read_encoder(*spec.encoder, read)) : std::nullopt),
        embedding_(own.first || models::reads_embeddings(spec) ? std::optional(read.read(spec.embedding))
                                                               : std::nullopt),
        layer_inputs_(read.read(spec.layer_inputs)),
        streams_(read.read(spec.streams)),
        blocks_(read.read(spec.blocks)),
        norm_(read.read(spec.final_norm)),
        head_(own.last ? std::optional(read.read(spec.head, spec.embedding)) : std::nullopt),
        specs_(cached_layers_of(spec)),
        text_memory_(text_memory_of(spec)),
        has_position_table_(spec.embedding.positions.has_value()),
        keeps_sinks_(keeps_sinks(spec)),
        generates_(!models::is_encoder_only(spec)) {
    if (text_memory_) pooler_.emplace(spec, hidden_, numbers);
  }

  /// Hidden states after the last block, of the rows that `ops` keeps. `tokens` are what the operators look up vectors
  /// by.
  template <class Operators, class Tokens>
  rows run(Operators& ops, const Tokens& tokens) const {
    const auto embedded = ops.embed(*embedding_, tokens, hidden_);
    if (layer_inputs_) ops.read_layer_inputs(*layer_inputs_, tokens, embedded);
    if (streams_) ops.start_streams(*streams_, embedded);
    const auto x = blocks_.run(ops, embedded);
    if (streams_ && !ops.is_empty(x)) ops.join_streams(*streams_, x);
    return x;
  }

  /// Runs the encoder, and calls store(LAYER, NORM, X) for each cross layer: it keeps what it makes of NORM(X).
  template <class Operators, class Tokens, class Store>
  void run_encoder(Operators& ops, const Tokens& tokens, const Store& store) const {
    const auto x = encoder_->stack.run(ops, ops.embed(encoder_->embedding, tokens, hidden_));
    for (const auto& block : blocks_.items())
      if (const auto* cross = std::get_if<parts::cross_attention<B>>(&block.part)) store(*cross, encoder_->norm, x);
  }

  std::int64_t hidden_;
  std::optional<encoder> encoder_;
  std::optional<parts::embedding<B>> embedding_;
  std::optional<parts::layer_inputs<B>> layer_inputs_;
  std::optional<parts::streams<B>> streams_;
  blocks<B> blocks_;
  typename B::norm norm_;
  std::optional<parts::head<B>> head_;
  std::vector<cache::kv_cache_spec> specs_;
  std::optional<cache::kv_cache_spec> text_memory_;
  std::optional<pooler> pooler_;
  bool has_position_table_;
  bool keeps_sinks_;
  bool generates_;

 private:
  template <class Reader>
  static encoder read_encoder(const models::encoder_spec& spec, Reader& read) {
    return {.embedding = read.read(spec.embedding),
            .stack = blocks<B>(read.read(spec.blocks, true)),
            .norm = read.read(spec.final_norm),
            .memory = models::kv_cache_specs({.blocks = spec.blocks}).front()};
  }
};

}  // namespace cogen::nn
