#pragma once

#include "kinds.hpp"

#include <cogen/detail/matrix.hpp>
#include <cogen/model.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace curves {

using tokens = std::span<const cogen::token>;

/// The first `wanted` tokens of a file. Throws std::runtime_error where it has fewer.
std::vector<cogen::token> tokens_of(const cogen::model& model, const std::string& file, std::size_t wanted);

/// What predicts a text token by token.
class predictor {
 public:
  virtual ~predictor() = default;

  virtual std::string_view kind_name() const noexcept = 0;

  /// The logits after each token, [ids, vocabulary], until the next call.
  virtual cogen::matrix_view read(tokens ids) = 0;

  /// What is read next is the beginning of a text.
  virtual void clear() = 0;
};

/// A cache of one kind with one slot, and the threads that feed it.
class reader final : public predictor {
 public:
  /// `name` is a kind's, with "/compute-int8" after it for products of compute_type::int8. Throws std::invalid_argument
  /// where there is no such kind.
  reader(const cogen::model& model, std::string name, const room& room, const cogen::workspace& threads);

  std::string_view kind_name() const noexcept override { return name_; }
  int length() const { return cache_.length(0); }
  const cogen::cache::cache& cache() const noexcept { return cache_; }

  /// Reads at most room::max_step_tokens tokens.
  cogen::matrix_view read(tokens ids) override;

  /// Reads any number of tokens, at least one. The logits after the last, [1, vocabulary], until the next call.
  cogen::matrix_view skim(tokens ids);

  void clear() override { cache_.clear(0); }

  /// All that the slot holds, to come back to.
  std::vector<std::byte> copy() const;

  /// Goes back to the `length` tokens that `copied` holds: by cutting where the kind can.
  void go_back(int length, std::span<const std::byte> copied);

 private:
  cogen::matrix_view forward(tokens ids, std::span<const int> outputs);

  const cogen::model& model_;
  std::string name_;
  int max_step_tokens_;
  cogen::workspace workspace_;
  cogen::cache::cache cache_;
};

/// What another program has predicted of the same text: a file of its logits, float32, one token after the other.
class logits_file final : public predictor {
 public:
  /// Throws std::runtime_error where it cannot be read.
  logits_file(const cogen::model& model, std::string name, const std::string& path);

  std::string_view kind_name() const noexcept override { return name_; }

  /// Throws std::runtime_error where the file ends before.
  cogen::matrix_view read(tokens ids) override;
  void clear() override {}

 private:
  std::string name_;
  std::ifstream file_;
  std::int64_t vocabulary_;
  cogen::matrix logits_;  // read last
};

/// A reader for each kind, in order, sharing threads; for `logits:FILE` that file.
std::vector<std::unique_ptr<predictor>> predictors_of(const cogen::model& model, std::span<const std::string> kinds,
                                                      const room& room, std::optional<int> threads);

/// One reader for each kind, in order, sharing threads.
std::vector<std::unique_ptr<reader>> readers_of(const cogen::model& model, std::span<const std::string> kinds,
                                                const room& room, std::optional<int> threads);

}  // namespace curves
