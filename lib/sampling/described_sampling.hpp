#pragma once

#include "sampling/random_stream.hpp"
#include "sampling/softmax.hpp"

#include <cogen/detail/sampling_batch.hpp>
#include <cogen/sampling_params.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace cogen {

/// What a device does with a described row, the plain way. `last` is the token that its slot keeps, if it has one.
class described_sampling {
 public:
  described_sampling(const sampling_row& params, const sampling_lists& lists) : params_(params), lists_(lists) {}

  std::pair<sampling_status, sampled_token> operator()(std::vector<float> logits, token last) const {
    if (params_.scored >= 0) return with_raw_logprobs(logits, params_.scored);
    const auto as_they_came = logits;
    process(logits, last);
    if (const auto status = status_of(logits); status != sampling_status::ok) return {status, {}};
    auto ranked = candidates_of(logits);
    if (params_.greedy) ranked.resize(1);
    const softmax_scale scale{ranked.front().logit, params_.inverse_temperature};
    double total = weigh(ranked, scale);
    keep_top_k(ranked, total);
    keep_top_p(ranked, params_.top_p * total);
    std::erase_if(ranked, [&](const candidate& entry) { return entry.weight < params_.min_p; });
    const token chosen = params_.greedy ? ranked.front().id : sample_from(ranked);
    switch (params_.logprobs) {
      case sampled_logprobs::none:
        return {sampling_status::ok, {.id = chosen}};
      case sampled_logprobs::raw:
        return with_raw_logprobs(as_they_came, chosen);
      case sampled_logprobs::processed:
        std::erase_if(ranked, [](const candidate& entry) { return entry.weight <= 0; });
        return with_logprobs(*std::ranges::find(ranked, chosen, &candidate::id), ranked,
                             [&, total = std::log(total_weight(ranked))](const candidate& entry) {
                               return (entry.logit - scale.largest) * scale.inverse_temperature - total;
                             });
    }
    return {};
  }

 private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  static sampling_status status_of(const std::vector<float>& logits) {
    if (!std::ranges::all_of(logits, [](float logit) { return logit < infinity; })) return sampling_status::not_finite;
    return std::ranges::max(logits) == -infinity ? sampling_status::nothing_left : sampling_status::ok;
  }

  static double weigh(std::vector<candidate>& ranked, const softmax_scale& scale) {
    double total = 0;
    for (auto& each : ranked) total += each.weight = weight_of(each.logit, scale);
    return total;
  }

  std::pair<sampling_status, sampled_token> with_raw_logprobs(const std::vector<float>& logits, token chosen) const {
    if (const auto status = status_of(logits); status != sampling_status::ok) return {status, {}};
    auto ranked = candidates_of(logits);
    const double log_total = ranked.front().logit + std::log(weigh(ranked, {ranked.front().logit}));
    const candidate that_one{chosen, logits.at(static_cast<std::size_t>(chosen)), 0};
    return with_logprobs(that_one, ranked, [&](const candidate& entry) { return entry.logit - log_total; });
  }

  template <class LogprobOf>
  std::pair<sampling_status, sampled_token> with_logprobs(const candidate& chosen, const std::vector<candidate>& ranked,
                                                          LogprobOf logprob_of) const {
    const auto logprob = [&](const candidate& entry) { return static_cast<float>(logprob_of(entry)); };
    sampled_token result{.id = chosen.id, .logprob = logprob(chosen)};
    for (const auto& each : std::span(ranked).first(std::min<std::size_t>(params_.top.count, ranked.size())))
      result.top.push_back({each.id, logprob(each)});
    return {sampling_status::ok, std::move(result)};
  }

  void process(std::vector<float>& logits, token last) const {
    const auto biases = std::span(lists_.biases);
    for (const auto& each : biases.subspan(params_.biases.begin, params_.biases.count))
      logits.at(static_cast<std::size_t>(each.id)) += each.value;
    for (const auto& [id, count] : counts(last)) {
      auto& logit = logits.at(static_cast<std::size_t>(id));
      if (count.total > 0) logit = logit < 0 ? logit * params_.repetition_penalty : logit / params_.repetition_penalty;
      if (count.generated > 0)
        logit -= static_cast<float>(count.generated) * params_.frequency_penalty + params_.presence_penalty;
    }
    for (const auto& each : biases.subspan(params_.held_back.begin, params_.held_back.count))
      logits.at(static_cast<std::size_t>(each.id)) = -infinity;
    const auto mask = std::span(lists_.masks).subspan(params_.mask.begin, params_.mask.count);
    for (std::size_t id = 0; id < logits.size() && !mask.empty(); ++id)
      if ((mask[id / 64] >> id % 64 & 1) == 0) logits[id] = -infinity;
  }

  std::map<token, token_count> counts(token last) const {
    std::map<token, token_count> result;
    for (const auto& each : std::span(lists_.counts).subspan(params_.counts.begin, params_.counts.count))
      result[each.id] = each;
    if (params_.unknown_last) {
      ++result[last].total;
      ++result[last].generated;
    }
    return result;
  }

  static std::vector<candidate> candidates_of(const std::vector<float>& logits) {
    std::vector<candidate> ranked;
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (logits[i] > -infinity) ranked.push_back({static_cast<token>(i), logits[i], 0});
    std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.logit > b.logit; });
    return ranked;
  }

  void keep_top_k(std::vector<candidate>& ranked, double& total) const {
    if (params_.top_k == 0 || params_.top_k >= ranked.size()) return;
    const float smallest = ranked[params_.top_k - 1].logit;
    std::erase_if(ranked, [&](const candidate& entry) { return entry.logit < smallest; });
    total = 0;
    for (const auto& each : ranked) total += each.weight;
  }

  void keep_top_p(std::vector<candidate>& ranked, double mass) const {
    if (params_.top_p >= 1) return;
    double sum = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i)
      if ((sum += ranked[i].weight) >= mass) return ranked.resize(i + 1);
  }

  token sample_from(std::vector<candidate> kept) const {
    std::ranges::sort(kept, {}, &candidate::id);
    double total = 0, sum = 0;
    for (const auto& each : kept) total += each.weight;
    const double target = uniform(params_.key) * total;
    for (const auto& each : kept)
      if ((sum += each.weight) > target) return each.id;
    return kept.back().id;
  }

  const sampling_row& params_;
  const sampling_lists& lists_;
};

}  // namespace cogen
