#pragma once

#include "histories.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/model.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

constexpr int small_step = 8;       ///< what rings leave room for, so that forwards are cut into parts
constexpr int small_rollback = 16;  ///< how far rings go back

/// A tiny golden model with a kind of cache.
struct cached_model {
  std::string golden;
  std::string kind;
  cache::options options;

  std::shared_ptr<const model> loaded() const;

  /// Tokens that one sequence of the tests has: above two blocks, or nearly all of a shorter model's positions.
  int length() const;

  /// With an encoder input in each slot, where the model reads one: the same in all.
  cache::cache make_cache(int slots, const cache::layer_factory& own = {}) const;

  /// What a sequence gives that is alone in the world and runs at once.
  logit_rows alone(const std::vector<token>& sequence) const;
};

std::ostream& operator<<(std::ostream& out, const cached_model& params);

/// Kinds by name; residuals are small, so that most of a short sequence is read quantized.
cache::options kind_named(const std::string& name);

/// Each golden model with each kind.
const std::vector<cached_model>& cached_models();

/// Runs tokens after those that slot 0 holds, a piece at a time.
logit_rows go_on(const cached_model& params, cache::cache& cache, const std::vector<token>& tokens, int piece = 64);

std::vector<token> first_of(const std::vector<token>& tokens, int count);
std::vector<token> rest_of(const std::vector<token>& tokens, int begin);
std::vector<token> joined(std::vector<token> front, const std::vector<token>& back);
logit_rows rest_of(const logit_rows& rows, int begin);

}  // namespace cogen::test
