#include "batch.hpp"

#include "admit.hpp"
#include "prefix_cache.hpp"
#include "reserve.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

class batch_builder {
 public:
  batch_builder(state& all, plan& into, plan_in_flight& record)
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
  static int most_tokens(const state& all) {
    const auto& within = all.within;
    return all.queued.decoding.empty() ? std::max(within.max_batched_tokens, within.prefill_tokens)
                                       : within.max_batched_tokens;
  }

  int prefill_share() const { return left_ == 1 ? static_cast<int>(plan_.number % 2) : std::max(1, left_ / 8); }

  /// Tokens that chunks may have beside the decode rows, which are waited for.
  int chunk_room() const {
    const auto& within = all_.within;
    if (plan_.rows.empty() || within.target_step_latency == std::chrono::nanoseconds::max()) return left_;
    const auto fit = all_.costs.tokens_within(within.target_step_latency) - record_.tokens;
    const std::int64_t least = std::max(1, within.max_batched_tokens / 16);
    return static_cast<int>(std::clamp<std::int64_t>(fit, least, within.max_batched_tokens));
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

  /// False if it has to wait for another plan.
  bool serve(sequence& seq) {
    if (is_short(seq) || (seq.fresh && !begin(all_, seq, plan_))) return false;
    const auto scheduled = prepare(all_, seq, plan_);
    lost_ |= scheduled == admission_result::lost;
    if (scheduled != admission_result::ready) return false;
    keep_branch(all_, seq);
    auto encoder_input = seq.unread();
    const auto read = encoder_input ? std::ssize(*encoder_input) : 0;
    left_ = static_cast<int>(std::max<std::int64_t>(1, left_ - read));
    const int count = std::min({left_, seq.remaining(), until_branch(all_, seq)});
    add_row(seq, count, std::move(encoder_input));
    all_.queued.count(seq, count + read);
    record_.tokens += count + read;
    all_.queued.place(seq);
    return true;
  }

  void add_row(sequence& seq, int count, encoder_tokens encoder_input) {
    const bool last = count == seq.remaining();
    const bool chained = seq.cached >= seq.length();
    const bool wants = last || seq.current.wanted == output::all_logits;
    const auto wanted = wants ? seq.current.wanted : output::nothing;
    const int first = static_cast<int>(plan_.tokens.size());
    if (!chained) {
      const auto begin = seq.tokens.begin() + seq.cached;
      plan_.tokens.insert(plan_.tokens.end(), begin, begin + count);
    }
    record_.rows.push_back({seq.id, seq.current.arrival, seq.cached, wanted, last});
    plan_.rows.push_back({seq.id, seq.slot, count, wanted, chained, first, std::move(encoder_input)});
    count_in(seq, count, last);
  }

  void count_in(sequence& seq, int count, bool last) {
    all_.slots.append(seq.slot, count, plan_);
    left_ -= count;
    if (seq.served == 0) all_.prefix_hit_tokens += static_cast<std::uint64_t>(seq.prefix_hit_tokens = seq.cached);
    seq.cached += count;
    seq.served = plan_.number;
    seq.fresh = false;
    if (all_.within.prefix_caching) all_.served.push_back(&seq);
    if (!last || seq.current.wanted != output::sample) return;
    --seq.current.credits;
    --seq.current.samples;
    ++seq.current.unknown;
  }

  state& all_;
  plan& plan_;
  plan_in_flight& record_;
  int left_;
  bool lost_ = false;
};

}  // namespace

bool build_batch(state& all, plan& into, plan_in_flight& record) { return batch_builder(all, into, record).run(); }

}  // namespace cogen::scheduler
