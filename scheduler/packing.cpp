#include "packing.hpp"

#include "growing.hpp"
#include "seating.hpp"
#include "sharing.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

class packing {
 public:
  packing(machine& all, plan& into, plan_in_flight& record)
      : all_(all), plan_(into), record_(record), left_(most_tokens(all)) {
    const auto decoding = std::min(all.queued.decoding.size(), static_cast<std::size_t>(left_));
    plan_.rows.reserve(decoding);
    plan_.tokens.reserve(decoding);
    record_.rows.reserve(decoding);
    all.served.clear();
  }

  bool run() {
    const int share = prefill_share();
    left_ -= share;
    decode();
    left_ += share;
    const int too_slow = std::max(0, left_ - chunk_room());
    left_ -= too_slow;
    prefill();
    left_ += too_slow;
    decode();
    for (const auto* each : all_.served) learn(all_, *each);
    return lost_;
  }

 private:
  static int most_tokens(const machine& all) {
    const auto& within = all.within;
    return all.queued.decoding.empty() ? std::max(within.step_tokens, within.prefill_tokens) : within.step_tokens;
  }

  int prefill_share() const { return left_ == 1 ? static_cast<int>(plan_.number % 2) : std::max(1, left_ / 8); }

  /// Tokens that chunks may have beside the rows that are there, which are waited for.
  int chunk_room() const {
    const auto& within = all_.within;
    if (plan_.rows.empty() || within.step_time == std::chrono::nanoseconds::max()) return left_;
    const auto fit = all_.costs.tokens_within(within.step_time) - record_.tokens;
    const std::int64_t least = std::max(1, within.step_tokens / 16);
    return static_cast<int>(std::clamp<std::int64_t>(fit, least, within.step_tokens));
  }

  void decode() {
    auto& turns = all_.queued.decoding;
    for (auto next = turns.begin(); next != turns.end() && left_ > 0;) {
      sequence& each = **next++;
      if (each.served == plan_.number) return;
      serve(each);
    }
  }

  void prefill() {
    auto& chunks = all_.queued.prefilling;
    for (auto* each = chunks.first(); each && left_ > 0;) {
      auto* const next = chunks.after(*each);
      const bool fresh = each->served != plan_.number && serve(*each);
      each = fresh && chunks.divided() ? chunks.first() : next;
    }
  }

  /// False where it has to wait for another plan.
  bool serve(sequence& whose) {
    if (is_short(whose) || (whose.fresh && !begin(all_, whose, plan_))) return false;
    const auto seated = prepare(all_, whose, plan_);
    lost_ |= seated == seat::lost;
    if (seated != seat::ready) return false;
    keep_branch(all_, whose);
    auto source = whose.unread();
    const auto read = source ? std::ssize(*source) : 0;
    left_ = static_cast<int>(std::max<std::int64_t>(1, left_ - read));
    const int count = std::min({left_, whose.remaining(), until_branch(all_, whose)});
    add_row(whose, count, std::move(source));
    all_.queued.count(whose, count + read);
    record_.tokens += count + read;
    all_.queued.place(whose);
    return true;
  }

  void add_row(sequence& whose, int count, source_tokens source) {
    const bool last = count == whose.remaining();
    const bool chained = whose.cached >= whose.length();
    const bool wants = last || whose.current.wanted == output::all_logits;
    const auto wanted = wants ? whose.current.wanted : output::nothing;
    const int first = static_cast<int>(plan_.tokens.size());
    if (!chained) {
      const auto begin = whose.tokens.begin() + whose.cached;
      plan_.tokens.insert(plan_.tokens.end(), begin, begin + count);
    }
    record_.rows.push_back({whose.id, whose.current.arrival, whose.cached, wanted, last});
    plan_.rows.push_back({whose.id, whose.slot, count, wanted, chained, first, std::move(source)});
    count_in(whose, count, last);
  }

  void count_in(sequence& whose, int count, bool last) {
    all_.slots.append(whose.slot, count, plan_);
    left_ -= count;
    if (whose.served == 0) all_.reused += static_cast<std::uint64_t>(whose.reused = whose.cached);
    whose.cached += count;
    whose.served = plan_.number;
    whose.fresh = false;
    if (all_.within.reuse) all_.served.push_back(&whose);
    if (!last || whose.current.wanted != output::sample) return;
    --whose.current.credits;
    --whose.current.samples;
    ++whose.current.unknown;
  }

  machine& all_;
  plan& plan_;
  plan_in_flight& record_;
  int left_;
  bool lost_ = false;
};

}  // namespace

bool pack(machine& all, plan& into, plan_in_flight& record) { return packing(all, into, record).run(); }

}  // namespace cogen::scheduler
