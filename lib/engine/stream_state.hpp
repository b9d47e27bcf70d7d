#pragma once

#include "engine/checked_request.hpp"
#include "engine/group_state.hpp"
#include "engine/prepared_request.hpp"
#include "engine/request_state.hpp"
#include "engine/salt.hpp"
#include "engine/sampling_state.hpp"
#include "engine/stream/deadlines.hpp"
#include "engine/stream/draft_proposals.hpp"
#include "engine/stream/prompt_reading.hpp"
#include "engine/stream/response_text.hpp"
#include "engine/stream/token_channel.hpp"

#include <cogen/request.hpp>
#include <cogen/token_stream.hpp>

#include <atomic>

namespace cogen::detail {

/// A generation: a sequence that runs at most `max_buffered_tokens` tokens ahead of its reader, on the credits of its
/// channel. A token that completes no piece (part of a character or of a stop string) returns its credit immediately.
class stream_state : public request_state, public result_owner {
 public:
  using next_operation = operation<std::optional<piece>>;
  using complete_operation = operation<completion>;
  using progress_operation = operation<std::optional<prompt_progress>>;

  /// Other generations of the same request, whose own prompts are not read.
  using siblings = std::span<const std::shared_ptr<stream_state>>;

  stream_state(std::shared_ptr<engine_loop> engine, std::shared_ptr<const request> request, random_stream random);

  /// Checks the parameters and begins work with the engine. False: the request was refused, and all have failed.
  bool admit(siblings peers) noexcept;

  /// Tokenizes and checks the request, which is this one's, gives up its prompt and encoder input, and enqueues all.
  /// Call it once, after admit(); any thread.
  void prepare(request& request, siblings peers) noexcept;

  /// Enqueues a request that has deadlines, so that they apply also before prepare() has finished.
  void start_deadlines() noexcept;

  net::any_io_executor default_executor() const override;
  void cancel(const pending_operation& wait, net::cancellation_type type) noexcept override;
  void settle(pending_operation& called) noexcept override;
  void drop(pending_operation& dropped) noexcept override;

  // Operations of the handle.
  std::shared_ptr<next_operation> last_next() noexcept;  ///< the wait before, given away; may be null
  void start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit);
  void start_complete(std::shared_ptr<complete_operation> wait);
  void start_progress(std::shared_ptr<progress_operation> wait);
  void stop() noexcept;
  void abort() noexcept;
  bool ended() const;
  std::optional<finish_reason> finish() const;
  finish_reason reason() const override;
  cogen::usage usage() const override;
  diagnostics error() const override;
  std::uint64_t id() const { return timeline().id(); }
  cogen::request_metrics request_metrics() const;
  std::vector<sampled_token> prompt_logprobs() const;
  std::optional<sampled_token> end_token() const;
  std::vector<loosened_keyword> loosened() const;
  virtual std::optional<float> score() const { return std::nullopt; }

  // For the group that reads it.
  void join(std::weak_ptr<group_state> group, std::size_t index);  ///< offers it what comes, under this index
  void ask_for_group();  ///< the group waits: offers what there is, or has the engine make it
  bool give_group(group_state::next_operation& wait, bool events) noexcept;  ///< what was offered; whether it was last
  void post_for_group(std::shared_ptr<pending_operation> completed) noexcept;

  void process(loop_view& loop) override;
  void mark_inexact() noexcept override;
  void set_cached_tokens(int prefix_hit_tokens) noexcept override;
  void prefilled(int tokens, clock::time_point time) noexcept override;
  void deliver(const scheduler::event& event, row_output& output, loop_view& loop) override;
  std::optional<clock::time_point> expire(clock::time_point now, loop_view& loop) override;
  void fail(const diagnostics& why) noexcept override;
  bool awaits_client() const override;
  sampling_state* sampling() noexcept override { return &sampling_; }
  bool is_unwanted() const noexcept override { return is_unwanted_; }

 protected:
  /// How far it has come.
  enum class stage : std::uint8_t { preparing, prepared, submitted, ended };

  virtual void check_request() const;  ///< throws std::invalid_argument
  virtual void submit(loop_view& loop);
  virtual void grant(int credits, loop_view& loop);
  void skip_prompt_progress();
  void take_token(sampled_token&& chosen, loop_view& loop);
  void take_end(sampled_token&& chosen);
  void finish(loop_view& loop, finish_reason reason, diagnostics why = {});
  scheduler::cache_salt salt() const { return salt_of(request_->tenant, request_->cache_salt); }

  const std::shared_ptr<const request> request_;  // of all siblings; prompt and encoder input are for prepare() alone

  // Set by prepare(); then used only by the engine thread, and by the thread that samples its row.
  scheduler::encoder_tokens encoder_input_;
  std::vector<token> prompt_;  // until it is submitted
  std::shared_ptr<const prepared_request> prepared_;

  stage stage_ = stage::preparing;  // under the lock

 private:
  void begin_guided(read_request inputs, siblings peers, grammar::work_watch* watch) noexcept;
  void take(read_request inputs, const grammar::guided_response& guided,
            std::shared_ptr<const prepared_request> prepared, bool shares_prompt);
  void count_prompt(std::size_t tokens);
  void constrain(std::unique_ptr<guide> guide, std::size_t prompt_length);
  void become_prepared() noexcept;
  void refuse(const diagnostics& why, siblings peers) noexcept;
  bool is_prepared() const;
  void submit_once(loop_view& loop);
  bool enforce_deadlines(clock::time_point now,
                         loop_view& loop);  // true: a deadline has passed, and ended the generation
  std::optional<clock::time_point> next_timer() const;
  std::string deadline_message(clock::time_point now, loop_view& loop) const;
  std::string waiting_reason(loop_view& loop) const;
  diagnostics reason_of(const diagnostics& failure) const;
  void report_prompt();
  response_parts parts_after(std::string_view prompt_ending) const;
  void push_piece();
  void count_drafts(const scheduler::event& token);
  void propose_drafts(int sampled, token predicted, loop_view& loop);
  bool propose_forced(loop_view& loop);
  bool speculates() const;
  completion gather_completion();
  void settle_piece();
  void settle_completion();
  void settle_progress();
  bool gathers() const noexcept { return reading_all_ && !reading_all_->completed(); }
  bool waits_for_time() const noexcept { return next_ && !next_->completed() && next_limit_; }
  void serve_waiters();
  void serve_progress();
  bool awaits_progress();
  void notify_engine();
  bool is_over() const noexcept;
  void offer_to_group() noexcept;
  bool group_waits(bool for_progress = false) const noexcept;
  bool busy();                            // releases operations whose execution context has shut down
  diagnostics conflict() const noexcept;  // of a new operation with the pending one

  /// How its handle wants it to end before its time.
  enum class wanted_end : std::uint8_t { none, stop, abort };

  const deadlines deadlines_;
  std::atomic<bool> is_unwanted_ = false;  // so that its formats need not be compiled

  // Set by prepare(), like those above.
  std::vector<int> checkpoints_;      // until it is submitted
  bool shares_prompt_ = false;        // with siblings
  bool reports_prompt_ = false;       // with the first token
  std::optional<int> scores_prompt_;  // with so many alternatives; the first sibling alone
  sampling_state sampling_;
  std::optional<response_text> text_;
  std::optional<draft_proposals> drafts_;
  piece next_piece_;  // has the tokens that have completed no piece yet

  // Under the lock. An operation that is completed stays here until its handler runs and takes its result.
  token_channel channel_;
  std::shared_ptr<next_operation> next_;
  std::shared_ptr<next_operation> last_next_;
  std::optional<clock::time_point> next_limit_;
  std::shared_ptr<complete_operation> reading_all_;
  std::shared_ptr<progress_operation> next_progress_;
  wanted_end wanted_end_ = wanted_end::none;
  finish_reason reason_ = finish_reason::aborted;
  diagnostics diagnostics_;
  cogen::usage usage_;
  std::vector<sampled_token> prompt_logprobs_;
  std::optional<sampled_token> end_token_;
  std::vector<loosened_keyword> loosened_;
  prompt_reading reading_;
  std::weak_ptr<group_state> group_;
  std::size_t index_in_group_ = 0;
};

}  // namespace cogen::detail
