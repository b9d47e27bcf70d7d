#include "models.hpp"

#include "engine/runner/model_runner.hpp"

#include <cmath>
#include <random>

namespace overhead {
namespace {

class no_runner final : public cogen::runner {
 public:
  explicit no_runner(std::shared_ptr<std::vector<float>> scores) : scores_(std::move(scores)) {}

  int vocabulary() const override { return static_cast<int>(scores_->size()); }

  void launch(cogen::step& step) override {
    const auto& rows = step.rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].wanted == cogen::scheduler::output::sample) step.sample(i, *scores_);
    step.done();
  }

 private:
  const std::shared_ptr<std::vector<float>> scores_;
};

constexpr int longest = 1 << 20;

cogen::scheduler::limits limits_of(int requests) {
  cogen::scheduler::limits limits;
  limits.slots = limits.spare_slots = requests;
  limits.prefix_caching = true;
  limits.max_batched_tokens = std::max(128, 4 * requests);
  return limits;
}

}  // namespace

cogen::engine_parts no_model(std::shared_ptr<std::vector<float>> scores, int requests) {
  cogen::engine_parts parts;
  parts.runner = std::make_unique<no_runner>(std::move(scores));
  parts.limits = limits_of(requests);
  parts.limits.max_sequence_length = longest;
  parts.limits.usage = {0, 1, 64};
  return parts;
}

std::shared_ptr<std::vector<float>> some_scores(int vocabulary) {
  std::mt19937 random(1);
  std::normal_distribution<float> score(0, 2.5);
  auto scores = std::make_shared<std::vector<float>>(static_cast<std::size_t>(vocabulary));
  for (auto& each : *scores) each = score(random);
  return scores;
}

cogen::engine_parts real_model(const std::shared_ptr<const cogen::model>& model, int requests,
                               std::optional<int> threads) {
  cogen::engine_parts parts;
  parts.limits = limits_of(requests);
  cogen::cache::options kept;
  kept.type = cogen::cache::scalar::f16;
  kept.slots = parts.limits.all_slots();
  kept.max_sequence_length = parts.limits.max_sequence_length = static_cast<int>(model->config().max_positions);
  kept.max_step_tokens = parts.limits.max_batched_tokens;
  const auto slots = std::make_shared<cogen::detail::cpu_slots>(model->make_cache(kept));
  parts.limits.usage = slots->kv.footprint_terms();
  parts.runner = std::make_unique<cogen::detail::model_runner>(
      model, slots, "", cogen::detail::swap_room{.transfer = std::make_shared<cogen::cache::immediate_transfer>()},
      cogen::workspace(threads));
  parts.tokenizer = {model, &model->tokenizer()};
  return parts;
}

}  // namespace overhead
