#include "batch.hpp"

#include "admit.hpp"
#include "prefix_cache.hpp"
#include "reserve.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace cogen::scheduler {
namespace {

class batch_builder {
 public:
  batch_builder(state& sched, step& plan, step_record& record)
      : sched_(sched),
        step_(plan),
        record_(record),
        left_(max_tokens(sched)),
        decode_rows_left_(max_decode_rows(sched)),
        drafts_left_(sched.within.max_draft_tokens),
        all_logits_left_(sched.within.max_all_logits_tokens) {
    const auto decoding = std::min(sched.queued.decoding.size(), static_cast<std::size_t>(left_));
    step_.rows.reserve(decoding);
    step_.tokens.reserve(decoding);
    record_.rows.reserve(decoding);
    sched.served.clear();
  }

  bool run() {
    const int share = prefill_share(left_), all_logits_share = prefill_share(all_logits_left_);
    left_ -= share, all_logits_left_ -= all_logits_share;
    decode();
    left_ += share, all_logits_left_ += all_logits_share;
    const int too_slow = std::max(0, left_ - chunk_room());
    left_ -= too_slow;
    prefill();
    left_ += too_slow;
    decode();
    for (const auto* seq : sched_.served) learn(sched_, *seq);
    return lost_;
  }

 private:
  static int max_tokens(const state& sched) {
    const auto& within = sched.within;
    return sched.queued.decoding.empty() ? std::max(within.max_batched_tokens, within.prefill_tokens)
                                         : within.max_batched_tokens;
  }

  /// If rows do not run ahead, half of the sequences that decode, those in flight included: another step has the rest.
  static std::int64_t max_decode_rows(const state& sched) {
    if (sched.within.run_ahead || sched.within.depth == 1) return std::numeric_limits<std::int64_t>::max();
    auto decoding = std::ssize(sched.queued.decoding);
    for (const auto& step : sched.in_flight)
      decoding +=
          std::ranges::count_if(step.rows, [](const auto& row) { return row.last && row.wanted == output::sample; });
    return (decoding + 1) / 2;
  }

  int prefill_share(int tokens) const {
    return tokens == 1 ? static_cast<int>(step_.number % 2) : std::max(1, tokens / 8);
  }

  /// Tokens that chunks may have beside the decode rows, which are waited for.
  int chunk_room() const {
    const auto& within = sched_.within;
    if (step_.rows.empty() || within.target_step_latency == std::chrono::nanoseconds::max()) return left_;
    const auto fit = sched_.costs.tokens_within(within.target_step_latency) - record_.tokens;
    const std::int64_t least = std::max(1, within.max_batched_tokens / 16);
    return static_cast<int>(std::clamp<std::int64_t>(fit, least, within.max_batched_tokens));
  }

  void decode() {
    auto& turns = sched_.queued.decoding;
    for (auto next = turns.begin(); next != turns.end() && left_ > 0 && decode_rows_left_ > 0;) {
      sequence& seq = **next++;
      if (seq.served == step_.number) return;
      if (serve(seq)) --decode_rows_left_;
    }
  }

  void prefill() {
    auto& chunks = sched_.queued.prefilling;
    for (auto* seq = chunks.first(); seq && left_ > 0;) {
      auto* const next = chunks.after(*seq);
      const bool fresh = seq->served != step_.number && serve(*seq);
      seq = fresh && chunks.divided() ? chunks.first() : next;
    }
  }

  /// False if it has to wait for another step.
  bool serve(sequence& seq) {
    if (is_short(seq) || max_by_logits(seq) == 0 || (seq.fresh && !begin(sched_, seq, step_))) return false;
    const auto scheduled = prepare(sched_, seq, step_);
    lost_ |= scheduled == admission_result::lost;
    if (scheduled != admission_result::ready) return false;
    if (forgets_) {
      keep_for_others(sched_, seq);
      take_checkpoint(sched_, seq, step_);
    }
    auto encoder_input = seq.unread();
    const auto read = encoder_input ? std::ssize(*encoder_input) : 0;
    left_ = static_cast<int>(std::max<std::int64_t>(1, left_ - read));
    const int count = std::min({left_, seq.remaining(), tokens_until_kept(seq), max_by_logits(seq)});
    const int drafts = seq.drafts.empty() ? 0 : drafts_after(seq, count);
    add_row(seq, count, drafts, std::move(encoder_input));
    sched_.queued.count(seq, count + drafts + read);
    record_.tokens += count + drafts + read;
    sched_.queued.place(seq);
    return true;
  }

  /// The most tokens that its row may have by the logits that it wants.
  int max_by_logits(const sequence& seq) const {
    return seq.current.wanted == output::all_logits ? all_logits_left_ : std::numeric_limits<int>::max();
  }

  int tokens_until_kept(const sequence& seq) const {
    return forgets_ ? until_kept(sched_, seq) : std::numeric_limits<int>::max();
  }

  /// Of its draft tokens, how many its row has after its next `count` tokens. None takes the place of another row, or
  /// memory that is not reserved.
  int drafts_after(const sequence& seq, int count) {
    const auto most =
        std::min<std::int64_t>({allowed_drafts(seq, count), drafts_left_, left_ - count - waiting_turns(seq)});
    if (most <= 0) return 0;
    return static_cast<int>(seq.only_if_faster ? seq.accepts.count(most, min_likelihood()) : most);
  }

  /// How many it may have by itself.
  std::int64_t allowed_drafts(const sequence& seq, int count) const {
    const int end = seq.cached + count;
    if (end < seq.length() || seq.current.wanted != output::sample || seq.current.unknown > 0) return 0;
    const auto most =
        std::min<std::int64_t>({std::ssize(seq.drafts), seq.current.credits - 1, seq.room() - 1, seq.reserved - end,
                                sched_.within.max_row_drafts(), tokens_until_kept(seq) - count});
    return std::max<std::int64_t>(0, most);
  }

  /// Draft tokens of this step that are at least so likely to be accepted are worth their time: the best choice over
  /// this row and those to come.
  double min_likelihood() {
    if (!min_likelihood_) {
      sched_.likelihoods.clear();
      step_outlook without{.rows = std::ssize(step_.rows), .drafts = record_.drafts};
      for (const auto* seq : sched_.queued.decoding) {
        if (seq->served == step_.number) break;
        ++without.rows;
        const auto most = seq->drafts.empty() ? 0 : allowed_drafts(*seq, 1);
        if (!seq->only_if_faster)
          without.drafts += most;
        else
          for (std::int64_t i = 0; i < most; ++i) sched_.likelihoods.push_back(seq->accepts.likelihood(i));
      }
      without.rows = std::max<std::int64_t>(1, without.rows);
      min_likelihood_ =
          min_worthwhile_likelihood(sched_.likelihoods, without, sched_.costs_of_drafts.predict(without.rows));
    }
    return *min_likelihood_;
  }

  /// Sequences besides this one that decode and have no row yet.
  std::int64_t waiting_turns(const sequence& but) const {
    const auto& turns = sched_.queued.decoding;
    const auto served = [&](const sequence* seq) { return seq->served == step_.number; };
    const auto end = std::ranges::find_if(turns, served);
    return std::count_if(turns.begin(), end, [&](const sequence* seq) { return seq != &but; });
  }

  void add_row(sequence& seq, int count, int drafts, encoder_tokens encoder_input) {
    const bool last = count == seq.remaining();
    const bool chained = seq.cached >= seq.length();
    const bool wants = last || seq.current.wanted == output::all_logits;
    const auto wanted = wants ? seq.current.wanted : output::nothing;
    const bool ends_scores = last && wanted == output::nothing && seq.scores();  // no token follows its last one
    const int first = static_cast<int>(step_.tokens.size());
    const int end = seq.cached + count;
    if (!chained) add_tokens(seq.tokens.begin() + seq.cached, count);
    const bool samples = last && wanted == output::sample;
    const int unknown = !samples ? 0 : seq.runs_ahead && drafts == 0 ? 1 : drafts;
    record_.rows.push_back({seq.id, seq.current.arrival, seq.cached, wanted, last, unknown});
    const bool prefill = count > 1 || !last || seq.prefilling;
    step_.rows.push_back({.sequence = seq.id,
                          .slot = seq.slot,
                          .count = count,
                          .wanted = ends_scores ? output::last_logits : wanted,
                          .chained = chained,
                          .first = first,
                          .prefill = prefill,
                          .scored = seq.scores(),
                          .first_sample = static_cast<int>(step_.sampled.size()),
                          .position = seq.cached,
                          .next = end < seq.length() ? seq.tokens.begin()[end] : -1,
                          .encoder_input = std::move(encoder_input)});
    if (samples) step_.sampled.push_back(-1);
    if (drafts > 0) add_drafts(seq, drafts);
    if (wanted == output::all_logits) all_logits_left_ -= count;
    count_in(seq, count + drafts, last);
    if (!samples) return;
    --seq.current.credits;
    --seq.current.samples;
    seq.current.unknown += unknown;
  }

  void add_tokens(const token* first, int count) {
    if (count == 1)  // of a decode row, where a call matters
      step_.tokens.push_back(*first);
    else
      step_.tokens.insert(step_.tokens.end(), first, first + count);
  }

  /// To the row that was added last.
  void add_drafts(const sequence& seq, int drafts) {
    auto& row = step_.rows.back();
    row.count += drafts;
    row.drafts = drafts;
    step_.tokens.insert(step_.tokens.end(), seq.drafts.begin(), seq.drafts.begin() + drafts);
    step_.sampled.resize(step_.sampled.size() + static_cast<std::size_t>(drafts), -1);
    drafts_left_ -= drafts;
    record_.drafts += drafts;
    sched_.draft_tokens += static_cast<std::uint64_t>(drafts);
  }

  void count_in(sequence& seq, int count, bool last) {
    sched_.slots.append(seq.slot, count, step_);
    left_ -= count;
    if (seq.served == 0) {
      step_.rows.back().prefix_hit_tokens = seq.prefix_hit_tokens = seq.cached;
      sched_.prefix_hit_tokens += static_cast<std::uint64_t>(seq.cached);
    }
    seq.cached += count;
    seq.served = step_.number;
    seq.fresh = false;
    seq.prefilling = !last;
    if (sched_.within.prefix_caching) sched_.served.push_back(&seq);
  }

  state& sched_;
  step& step_;
  step_record& record_;
  const bool forgets_ = !can_always_rewind(sched_);
  int left_;
  std::int64_t decode_rows_left_;
  int drafts_left_;
  int all_logits_left_;
  std::optional<double> min_likelihood_;  // of draft tokens that are worth their time, once it is needed
  bool lost_ = false;
};

}  // namespace

bool build_batch(state& sched, step& plan, step_record& record) { return batch_builder(sched, plan, record).run(); }

}  // namespace cogen::scheduler
