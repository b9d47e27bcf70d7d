#pragma once

#include "engine/deadlines.hpp"
#include "engine/output_processor.hpp"
#include "engine/request_state.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"

#include <cogen/request.hpp>
#include <cogen/token_stream.hpp>

#include <boost/circular_buffer.hpp>

namespace cogen::detail {

/// A generation: a sequence that runs freely, at most `max_buffered_tokens` tokens ahead of its reader.
///
/// Credits keep it there. It begins with `max_buffered_tokens` of them, spends one for each token, and is given one
/// back for each piece that is read; a token that made no piece (half a character, the beginning of a stop string) is
/// given back at once. With buffer size 0 it is given one when a reader asks and nothing is there.
class stream_state final : public request_state, public stream_face {
 public:
  stream_state(std::shared_ptr<driver> engine, request what);

  /// Takes a place with the engine. False: it was refused, and has failed.
  bool enter() noexcept;

  /// Then tokenizes and checks the request, and hands it to the engine. Any thread, once.
  void begin() noexcept;

  /// Lets the engine see to the request's limits of time also before that is done.
  void watch() noexcept;

  async::engine_executor executor() const override;
  net::any_io_executor default_executor() const override;
  std::shared_ptr<next_operation> last_next() noexcept override;
  void start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) override;
  void cancel_next(const next_operation& wait) noexcept override;
  void start_complete(std::shared_ptr<complete_operation> wait) override;
  void cancel_complete(const complete_operation& wait, net::cancellation_type type) noexcept override;
  void stop() noexcept override;
  void abort() noexcept override;
  bool ended() const override;
  std::optional<finish_reason> finish() const override;
  finish_reason reason() const override;
  cogen::usage usage() const override;
  diagnostics error() const override;
  std::uint64_t id() const override { return metrics().id(); }
  cogen::request_metrics request_metrics() const override;

  void process() override;
  void lose_exactness() noexcept override;
  void begin_after(int prefix_hit_tokens) noexcept override;
  void take(const scheduler::event& event, row_output& outcome) override;
  std::optional<clock::time_point> expire(clock::time_point now) override;
  void fail(const diagnostics& why) noexcept override;
  bool owner_is_thinking() const override;
  row_output sample(std::span<float> scores) noexcept override;
  bool describe(bool chained, sampling_row& row, sampling_lists& lists) override;

 private:
  sampling_key next_key(bool chained) const;
  void prepare();
  bool is_prepared() const;
  void submit_once();
  void submit();
  bool keep_limits(clock::time_point now);  // true: one has passed, and ended the generation
  std::optional<clock::time_point> next_timer() const;
  std::string waited(clock::time_point now) const;
  std::string waited_for() const;
  void take_token(sampled_token chosen, bool is_end);
  void finish(finish_reason reason, diagnostics why = {});
  void push_piece(std::string text);
  piece read_piece();
  void count_read();
  completion gather_completion();
  void complete_whole();
  void serve_waiters();
  void want_attention();
  bool busy();  // forgets a wait whose context has gone
  void ask();
  int max_buffered_tokens() const { return request_.max_buffered_tokens; }

  const request request_;
  const deadlines limits_;

  // Set by begin(), then the engine's thread alone, or whoever samples.
  scheduler::encoder_tokens encoder_input_;
  int new_tokens_ = 0;  // at most
  std::vector<token> end_tokens_;
  std::optional<sampler> sampler_;
  std::optional<output_processor> cutter_;
  token_history history_;
  random_stream random_;
  piece next_piece_;  // its tokens are those that have made none yet

  /// The lock, and what waits: an operation completed under the lock is destroyed after it, since its handler may own
  /// the very handle of this stream.
  class locked {
   public:
    explicit locked(const stream_state& state) : lock_(state.mutex_), next_(state.next_), whole_(state.whole_) {}
    ~locked() {
      if (lock_) lock_.unlock();
    }
    void unlock() { lock_.unlock(); }

   private:
    std::unique_lock<std::mutex> lock_;
    std::shared_ptr<next_operation> next_;
    std::shared_ptr<complete_operation> whole_;
  };

  mutable std::mutex mutex_;  // guards everything below
  boost::circular_buffer<piece> ready_;
  int credited_ = 0;  // pieces at the front of ready_ for which credit was given already
  int owed_ = 0;      // credits the reader has earned and the engine has not given yet
  std::shared_ptr<next_operation> next_;
  std::shared_ptr<next_operation> last_next_;
  std::optional<clock::time_point> next_limit_;
  std::shared_ptr<complete_operation> whole_;
  bool prepared_ = false;
  bool submitted_ = false;
  bool stop_asked_ = false;
  bool aborted_ = false;
  bool ended_ = false;
  bool asked_ = false;     // buffer size 0: a credit was given for which no piece has come yet
  bool thinking_ = false;  // buffer size 0: holds a piece, and a wish for the next has not been taken up
  finish_reason reason_ = finish_reason::aborted;
  diagnostics diagnostics_;
  cogen::usage usage_;
};

}  // namespace cogen::detail
