#pragma once

#include "simulation/coverage.hpp"
#include "simulation/toy_model.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <optional>
#include <span>
#include <vector>

namespace cogen::scheduler::simulate {

/// What a sequence ought to be, by the contract alone: no slots, no plans, no cache.
class mirror {
 public:
  enum class stage { leaving, swapped_out, returning };

  mirror(const sequence_options& options, int capacity) : options(options), capacity(capacity) {}

  void begin(const run& next, std::uint64_t number);
  void abandon();
  void truncate(int length);

  /// All of its tokens, those sampled by rows in flight at the end.
  std::vector<token> with_ahead() const;

  /// What its slot has read beside its tokens.
  std::span<const token> encoder_input() const {
    return options.encoder_input ? std::span<const token>(*options.encoder_input) : std::span<const token>();
  }

  /// What a row that ends at `end` tokens must want.
  output wanted_at(int end) const;

  /// Whether a row of the run may be planned now.
  bool may_run() const;

  /// Samples that the run may still take, and those that it has taken.
  std::int64_t samples_left() const;
  int sampled_in_run() const { return sampled - sampled_before_; }

  /// A row was planned that wants a sample; the cache's side knows already which.
  void planned_sample(const row& planned, token chosen);

  /// The most draft tokens that its next row may have by its run.
  std::int64_t max_drafts() const { return std::max<std::int64_t>(0, std::min(credits, room()) - 1); }

  /// Whether draft tokens that are proposed now count: the token after its last one is in no row yet.
  bool takes_drafts() const { return running && wanted == output::sample && ahead.empty() && !awaits_sample; }

  /// The events that the owner must get when a row of a step has been run, which ended at `end` but for its drafts.
  std::vector<event> absorb(const step& done, const row& row, int end, const toy::model& model, coverage& seen);

  /// The same when what a late row has sampled is known.
  std::vector<event> absorb_late(const late_sample& sample, int begin, const toy::model& model, coverage& seen);

  sequence_options options;
  int capacity;
  std::vector<token> tokens;
  int sampled = 0;
  bool running = false;
  std::uint64_t number = 0;        ///< of the run
  time asked{};                    ///< and when it began
  std::uint64_t last_asked = 0;    ///< world's count of requests when it began or was last granted credits
  std::uint64_t displaced_at = 0;  ///< the same when it was last displaced, during its run; 0: never
  output wanted = output::sample;
  std::int64_t credits = 0;
  std::int64_t samples = 0;
  std::vector<token> ahead;    ///< sampled by rows in flight
  bool prefills = true;        ///< its next row prefills whatever it feeds
  std::vector<token> drafts;   ///< proposed for its next row that samples
  bool runs_ahead = true;      ///< as it was told
  bool awaits_sample = false;  ///< no row may be planned until the one in flight was absorbed
  bool late = false;           ///< that one was, and its sample is not known yet
  std::uint64_t late_in = 0;   ///< the number of its step

  int rows_in_flight = 0;
  int unserved = 0;        ///< plans since its last row while it had a slot and something to run
  int slot = -1;           ///< of its last row
  bool scheduled = false;  ///< it was seen with a slot; exact only without forks
  bool has_room = true;    ///< memory is set aside for what it has to hold next
  int reached = 0;         ///< of its tokens, those that have run
  bool began = false;      ///< it has had a row
  int stay = 0;            ///< tokens run since it took its slot

  std::optional<time> idle_since;  ///< since when it was seen idle in a slot
  std::optional<swap_id> away;     ///< what it had reached was swapped out under this name
  stage moves = stage::swapped_out;
  std::optional<swap_id> copied;  ///< what its slot holds is copied under this name
  bool opened = false;            ///< that is what it was saved as, and it has not gone on
  bool preempted = false;         ///< since the last plan, which tells whether it was swapped out

 private:
  std::int64_t room() const;
  std::vector<event> absorb_samples(const step& done, const row& row, const toy::model& model, coverage& seen);
  std::vector<event> take_token(token taken, coverage& seen);
  std::vector<event> fail(int begin, coverage& seen);
  void make_idle();

  bool samples_none_ = false;
  int length_before_ = 0;
  int sampled_before_ = 0;
  int length_fed_ = 0;
  int reported_to_ = 0;  // all of the run's tokens before it had a row that wants logits
};

}  // namespace cogen::scheduler::simulate
