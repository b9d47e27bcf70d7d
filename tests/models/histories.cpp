#include "histories.hpp"

#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <span>

namespace cogen::test {

namespace {

std::vector<int> all_indices(std::size_t count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

std::vector<std::vector<token>> sequences_of(const model& model, const std::vector<int>& lengths) {
  std::vector<std::vector<token>> sequences;
  for (const int length : lengths) {
    sequences.push_back(random_tokens(model, length, static_cast<unsigned>(length)));
  }
  return sequences;
}

}  // namespace

chunking random_pieces(int largest, unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random, largest](int, int left) {
    return std::min(left, std::uniform_int_distribution<int>(0, largest)(*random));
  };
}

std::vector<logit_rows> run(const model& model, const std::vector<std::vector<token>>& sequences, cache::cache& cache,
                            workspace& workspace, const chunking& next) {
  std::vector<logit_rows> logits(sequences.size());
  std::vector<std::size_t> ran(sequences.size());
  while (!std::ranges::equal(ran, sequences, {}, {}, &std::vector<token>::size)) {
    std::vector<cache::step_row> rows;
    std::vector<token> tokens;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto left = std::span(sequences[i]).subspan(ran[i]);
      const int count = left.empty() ? 0 : next(static_cast<int>(i), static_cast<int>(left.size()));
      if (count == 0) continue;
      rows.push_back({.slot = static_cast<int>(i), .count = count});
      tokens.insert(tokens.end(), left.begin(), left.begin() + count);
    }
    const auto outputs = all_indices(tokens.size());
    const auto step_logits =
        model.forward({.step = cache::step(rows), .tokens = tokens, .outputs = outputs}, cache, workspace);
    std::int64_t output = 0;
    for (const auto& row : rows) {
      const auto sequence = static_cast<std::size_t>(row.slot);
      for (int i = 0; i < row.count; ++i, ++output)
        logits[sequence].emplace_back(step_logits[output].begin(), step_logits[output].end());
      ran[sequence] += static_cast<std::size_t>(row.count);
    }
  }
  return logits;
}

logit_rows run_alone(const model& model, const std::vector<token>& sequence, workspace& workspace, cache::scalar type) {
  auto cache = cache_for(model, {sequence}, type);
  return run(model, {sequence}, cache, workspace, whole()).front();
}

float distance(const logit_rows& a, const logit_rows& b) {
  if (a.size() != b.size()) return INFINITY;
  float worst = 0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    for (std::size_t i = 0; i < a[row].size(); ++i) {
      const float difference = std::abs(a[row][i] - b[row].at(i));
      if (!(difference <= worst)) worst = difference;
    }
  }
  return worst;
}

cache::cache cache_for(const model& model, const std::vector<std::vector<token>>& sequences, cache::scalar type) {
  std::size_t longest = 1;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
  return model.make_cache(
      {.type = type, .slots = static_cast<int>(sequences.size()), .max_sequence_length = static_cast<int>(longest)});
}

void check_company(const model& model, const std::vector<int>& lengths, int largest_piece, cache::scalar type,
                   compute_type mode) {
  const auto sequences = sequences_of(model, lengths);
  workspace single(1, mode);
  std::vector<logit_rows> alone;
  for (const auto& sequence : sequences) alone.push_back(run_alone(model, sequence, single, type));
  for (const int threads : {1, 2, 3, 5}) {
    workspace several(threads, mode);
    auto cache = cache_for(model, sequences, type);
    const auto together =
        run(model, sequences, cache, several, random_pieces(largest_piece, static_cast<unsigned>(threads)));
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      BOOST_TEST((together[i] == alone[i]), "sequence of " << lengths[i] << " tokens, " << threads
                                                           << " threads: " << distance(together[i], alone[i]));
    }
  }
}

}  // namespace cogen::test
