#pragma once

#include <cogen/model.hpp>

#include <functional>
#include <vector>

namespace cogen::test {

/// Logits after each token of a sequence. [tokens][vocabulary]
using logit_rows = std::vector<std::vector<float>>;

/// How many tokens sequence `sequence` gets in the next forward, `left` of its tokens not having run yet; 0: it waits.
using chunking = std::function<int(int sequence, int left)>;

inline chunking whole() {
  return [](int, int left) { return left; };
}
inline chunking pieces_of(int size) {
  return [size](int, int left) { return size < left ? size : left; };
}
/// Any number of tokens up to `largest`, or none.
chunking random_pieces(int largest, unsigned seed);

/// Runs sequences side by side, sequence i in slot i, and returns the logits after every token.
std::vector<logit_rows> run(const model& model, const std::vector<std::vector<token>>& sequences, cache::cache& cache,
                            workspace& workspace, const chunking& next);

/// One sequence alone in a cache of its own, at once.
logit_rows run_alone(const model& model, const std::vector<token>& sequence, workspace& workspace,
                     cache::scalar type = cache::scalar::bf16);

/// The greatest difference of two logits.
float distance(const logit_rows& a, const logit_rows& b);

/// An empty cache for sequences of these tokens.
cache::cache cache_for(const model& model, const std::vector<std::vector<token>>& sequences,
                       cache::scalar type = cache::scalar::bf16);

/// Runs sequences of these lengths together in random pieces, on 1 to 5 threads, and checks that each has the bits that
/// it has alone on one thread.
void check_company(const model& model, const std::vector<int>& lengths, int largest_piece, cache::scalar type,
                   compute_type mode = compute_type::float32);

}  // namespace cogen::test
