#pragma once

#include "kinds.hpp"

#include <cogen/model.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace curves {

using tokens = std::span<const cogen::token>;

/// The first `wanted` tokens of a file. Throws std::runtime_error where it has fewer.
std::vector<cogen::token> tokens_of(const cogen::model& model, const std::string& file, std::size_t wanted);

/// A cache of one kind with one slot, and the threads that feed it.
class reader {
 public:
  /// `name` is a kind's, with "/fast" after it for products of numerics::fast. Throws std::invalid_argument where there
  /// is no such kind.
  reader(const cogen::model& model, std::string name, const room& room, const cogen::workspace& threads);

  std::string_view kind_name() const noexcept { return name_; }
  int length() const { return cache_.length(0); }
  const cogen::cache::cache& cache() const noexcept { return cache_; }

  /// Reads at most room::longest_step tokens. The logits after each, [ids, vocabulary], until the next call.
  at::Tensor read(tokens ids);

  /// Reads any number of tokens. The logits after the last, [vocabulary], until the next call.
  at::Tensor skim(tokens ids);

  void clear() { cache_.clear(0); }

  /// All that the slot holds, to come back to.
  std::vector<std::byte> copy() const;

  /// Goes back to the `length` tokens that `copied` holds: by cutting where the kind can.
  void go_back(int length, std::span<const std::byte> copied);

 private:
  at::Tensor forward(tokens ids, std::span<const int> outputs);

  const cogen::model& model_;
  std::string name_;
  int longest_step_;
  cogen::workspace workspace_;
  cogen::cache::cache cache_;
};

/// One reader for each kind, in order, sharing threads.
std::vector<std::unique_ptr<reader>> readers_of(const cogen::model& model, std::span<const std::string> kinds,
                                                const room& room, int threads);

}  // namespace curves
