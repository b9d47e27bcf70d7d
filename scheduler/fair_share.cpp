#include <cogen/policy.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace cogen::scheduler {
namespace {

constexpr std::size_t remembered = 65'536;

void check(double weight, const std::string& seq) {
  if (!(weight > 0) || !std::isfinite(weight))
    throw std::invalid_argument("the weight of " + seq + " is " + std::to_string(weight) +
                                "; it must be above 0, and finite");
}

struct account {
  double weight;
  double had = 0;          // tokens run, by weight; never less than when it began to wait
  std::int64_t to_be = 0;  // tokens that will run in the slots it was given
  int sequences = 0;
};

class fair_share_policy final : public scheduling_policy, private fairness_counters {
 public:
  fair_share_policy(std::map<std::uint64_t, double> weights, double other_weight)
      : weights_(std::move(weights)), other_weight_(other_weight) {
    check(other_weight, "other tenants");
    for (const auto& [tenant, weight] : weights_) check(weight, "tenant " + std::to_string(tenant));
  }

  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.arrival < b.arrival; }
  bool displaces(const candidate& waits, const candidate& runs) const noexcept override {
    return waits.tenant != runs.tenant;
  }
  fairness_counters* divides() noexcept override { return this; }

 private:
  void join(std::uint64_t tenant) override {
    if (accounts_.size() >= sweep_at_) sweep();
    ++accounts_.try_emplace(tenant, account{weight_of(tenant)}).first->second.sequences;
  }

  void leave(std::uint64_t tenant) noexcept override {
    const auto found = accounts_.find(tenant);
    --found->second.sequences;
    if (forgettable(found->second)) accounts_.erase(found);
  }

  void waits(std::uint64_t tenant, bool alone) noexcept override {
    if (alone) start_ = std::max(start_, furthest_);
    auto& had = account_of(tenant).had;
    had = std::max(had, start_);
  }

  void scheduled(std::uint64_t tenant, std::int64_t tokens) noexcept override {
    start_ = std::max(start_, account_of(tenant).had);
    account_of(tenant).to_be += tokens;
  }

  void ran(std::uint64_t tenant, std::int64_t tokens, std::int64_t fed) noexcept override {
    account& seq = account_of(tenant);
    seq.to_be -= fed;
    seq.had += static_cast<double>(tokens) / seq.weight;
    furthest_ = std::max(furthest_, seq.had);
  }

  void dropped(std::uint64_t tenant, std::int64_t tokens) noexcept override { account_of(tenant).to_be -= tokens; }

  double mark(std::uint64_t tenant, turn resource) const noexcept override {
    const account& seq = accounts_.find(tenant)->second;
    return resource == turn::prefill ? seq.had : seq.had + static_cast<double>(seq.to_be) / seq.weight;
  }

  account& account_of(std::uint64_t tenant) { return accounts_.find(tenant)->second; }

  double weight_of(std::uint64_t tenant) const {
    const auto found = weights_.find(tenant);
    return found == weights_.end() ? other_weight_ : found->second;
  }

  bool forgettable(const account& entry) const { return entry.sequences == 0 && entry.had <= start_; }

  void sweep() {
    std::erase_if(accounts_, [this](const auto& entry) { return forgettable(entry.second); });
    if (accounts_.size() > remembered)
      std::erase_if(accounts_, [](const auto& entry) { return entry.second.sequences == 0; });
    sweep_at_ = std::max<std::size_t>(1024, 2 * accounts_.size());
  }

  const std::map<std::uint64_t, double> weights_;
  const double other_weight_;
  std::unordered_map<std::uint64_t, account> accounts_;
  double start_ = 0;     // the largest of a tenant when it was given a slot: the paper's v
  double furthest_ = 0;  // the largest of any tenant so far
  std::size_t sweep_at_ = 1024;
};

}  // namespace

std::unique_ptr<scheduling_policy> fair_share(std::map<std::uint64_t, double> weights, double other_weight) {
  return std::make_unique<fair_share_policy>(std::move(weights), other_weight);
}

}  // namespace cogen::scheduler
