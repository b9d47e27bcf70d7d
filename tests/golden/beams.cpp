#include "beams.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace cogen::golden {
namespace {

struct live_beam {
  int slot = 0;
  std::vector<token> ids;
  double total = 0;                // of log-probabilities
  std::vector<float> scores = {};  // logits after the last of ids
};

/// One way for a beam to go on.
struct candidate {
  std::size_t parent;
  token next;
  double total;
};

double log_sum(const std::vector<float>& scores) {
  const double most = *std::ranges::max_element(scores);
  return most + std::log(std::accumulate(scores.begin(), scores.end(), 0.0,
                                         [&](double sum, float score) { return sum + std::exp(score - most); }));
}

std::vector<candidate> best_of(const std::vector<live_beam>& beams, int width) {
  std::vector<candidate> candidates;
  for (std::size_t parent = 0; parent < beams.size(); ++parent) {
    const double sum = log_sum(beams[parent].scores);
    for (std::size_t id = 0; id < beams[parent].scores.size(); ++id)
      candidates.push_back({parent, static_cast<token>(id), beams[parent].total + beams[parent].scores[id] - sum});
  }
  const auto count = std::min<std::ptrdiff_t>(width, std::ssize(candidates));
  std::ranges::partial_sort(candidates, candidates.begin() + count, std::greater<>(), &candidate::total);
  candidates.resize(static_cast<std::size_t>(count));
  return candidates;
}

class search {
 public:
  search(const model& model, cache::cache& cache, workspace& workspace)
      : model_(model), cache_(cache), workspace_(workspace) {
    for (int slot = cache.slots(); --slot > 0;) free_.push_back(slot);
  }

  /// Each beam becomes one of those that are chosen: the first child stays in its parent's slot.
  std::vector<live_beam> branch(const std::vector<live_beam>& beams, const std::vector<candidate>& chosen) {
    for (std::size_t parent = 0; parent < beams.size(); ++parent)
      if (std::ranges::find(chosen, parent, &candidate::parent) == chosen.end()) clear(beams[parent].slot);
    std::vector<bool> moved_on(beams.size());
    std::vector<live_beam> children;
    for (const auto& [parent, next, total] : chosen) {
      live_beam child{.slot = beams[parent].slot, .ids = beams[parent].ids, .total = total};
      if (moved_on[parent]) child.slot = fork(child.slot);
      moved_on[parent] = true;
      child.ids.push_back(next);
      children.push_back(std::move(child));
    }
    return children;
  }

  /// One forward of the last tokens of all beams.
  void run(std::vector<live_beam>& beams) {
    std::vector<cache::step_row> rows;
    std::vector<token> tokens;
    for (const auto& each : beams) {
      rows.push_back({.slot = each.slot, .count = 1});
      tokens.push_back(each.ids.back());
    }
    std::vector<int> outputs(beams.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    const auto logits =
        model_.forward({.step = cache::step(rows), .tokens = tokens, .outputs = outputs}, cache_, workspace_);
    for (std::size_t i = 0; i < beams.size(); ++i) {
      const auto row = logits[static_cast<std::int64_t>(i)];
      beams[i].scores.assign(row.begin(), row.end());
    }
  }

 private:
  void clear(int slot) {
    cache_.clear(slot);
    free_.push_back(slot);
  }

  int fork(int parent) {
    const int slot = free_.back();
    free_.pop_back();
    cache_.fork({.slot = slot, .source = parent, .end = cache_.length(parent)});
    return slot;
  }

  const model& model_;
  cache::cache& cache_;
  workspace& workspace_;
  std::vector<int> free_;
};

}  // namespace

std::vector<beam> beam_search(const model& model, cache::cache& cache, workspace& workspace, std::vector<float> scores,
                              int width, int length) {
  search external_stepping(model, cache, workspace);
  std::vector<live_beam> beams{{.ids = {}, .scores = std::move(scores)}};
  for (int step = 0; step < length; ++step) {
    if (step > 0) external_stepping.run(beams);
    beams = external_stepping.branch(beams, best_of(beams, width));
  }
  std::vector<beam> found;
  for (auto& each : beams)
    found.push_back({.ids = std::move(each.ids), .score = static_cast<float>(each.total / length)});
  return found;
}

}  // namespace cogen::golden
