#pragma once

#include "simulation/toy_cache.hpp"

#include <map>
#include <set>
#include <span>
#include <vector>

namespace cogen::scheduler::toy {

/// A model whose next token depends on every token before it, and on every token of the encoder input.
struct model {
  token vocabulary = 50;
  bool reversed = false;  ///< it reads and says each token as the one as far from the vocabulary's other end

  token name(token id) const { return reversed ? vocabulary - 1 - id : id; }

  token next(std::span<const token> history, std::span<const token> encoder_input = {}) const;
};

/// Runs plans on the toy cache at once. What rows sample is what the model says of the slot's content.
class runner {
 public:
  runner(const limits& within, model model, const ring& rings = {}) : cache_(within, rings), model_(model) {}

  /// The sequence is run by the reversed model.
  void reverse(sequence_id id) { reversed_.insert(id); }

  /// Sets what the rows sampled.
  void run(step& step);

  /// What the slots of the last plan's rows hold, in order.
  const std::vector<std::vector<token>>& contents() const { return contents_; }

  /// And the encoder inputs beside it.
  const std::vector<std::vector<token>>& encoder_inputs() const { return encoder_inputs_; }

  const toy::cache& cache() const { return cache_; }

  /// A transfer of an earlier plan ends.
  void end(swap_id name, bool ok) { cache_.end(name, ok); }

  /// What was kept elsewhere comes before the next plan.
  void keep(swap_id name, cache::snapshot content, bool is_prefix = false) {
    cache_.keep(name, std::move(content), is_prefix);
  }

 private:
  void sample(step& step, row& row);

  toy::cache cache_;
  model model_;
  std::vector<std::vector<token>> contents_;
  std::vector<std::vector<token>> encoder_inputs_;
  std::map<sequence_id, token> sampled_;  // by the last plan
  std::set<sequence_id> reversed_;
};

}  // namespace cogen::scheduler::toy
