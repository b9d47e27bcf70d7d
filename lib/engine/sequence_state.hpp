#pragma once

#include "engine/request_state.hpp"
#include "engine/sampling_state.hpp"
#include "engine/snapshot/session_format.hpp"

#include <cogen/engine.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/sequence.hpp>

#include <functional>
#include <variant>
#include <vector>

namespace cogen::detail {

/// A sequence that the client controls operation by operation. The handle keeps a list of commands, which the engine
/// thread executes in order. A cancelled operation withdraws its command, or has it undone.
class sequence_state final : public request_state, public result_owner {
 public:
  using forward_operation = operation<logits>;
  using decode_operation = operation<sampled_token>;
  using draft_operation = operation<std::vector<sampled_token>>;
  using plain_operation = operation<>;
  using open_operation = operation<sequence>;

  /// A strategy's sequences belong to its generation, which goes on while the engine drains.
  enum class opened_by : std::uint8_t { client, strategy };

  sequence_state(std::shared_ptr<engine_loop> engine, const open_options& options,
                 scheduler::encoder_tokens encoder_input, opened_by opener = opened_by::client);

  net::any_io_executor default_executor() const override;
  void cancel(const pending_operation& wait, net::cancellation_type type) noexcept override;
  void settle(pending_operation& called) noexcept override;
  void drop(pending_operation& dropped) noexcept override;

  // Operations of the handle.
  engine_executor executor() const;
  void start_forward(std::shared_ptr<forward_operation> wait, std::vector<token> tokens, logits_of which);
  void start_decode(std::shared_ptr<decode_operation> wait, std::vector<token> tokens, sampling_params params);
  void start_draft(std::shared_ptr<draft_operation> wait, std::vector<token> tokens, sampling_params params,
                   std::vector<token> drafts);
  void start_suspend(std::shared_ptr<plain_operation> wait);
  void start_save(std::shared_ptr<plain_operation> wait, std::filesystem::path path);
  void start_open(std::shared_ptr<open_operation> wait, std::filesystem::path path);
  std::shared_ptr<sequence_state> fork();
  void truncate(int length);
  void constrain(std::unique_ptr<guide> guide);
  std::vector<token> tokens() const;
  bool exact() const;
  diagnostics error() const override;
  std::uint64_t id() const { return timeline().id(); }
  cogen::request_metrics request_metrics() const;
  void abort() noexcept;

  void process(loop_view& loop) override;
  void deliver(const scheduler::event& event, row_output& output, loop_view& loop) override;
  void swap_ended(loop_view& loop) override;
  void mark_inexact() noexcept override;
  std::optional<clock::time_point> expire(clock::time_point, loop_view&) override { return std::nullopt; }
  void fail(const diagnostics& why) noexcept override;
  bool awaits_client() const override;
  sampling_state* sampling() noexcept override { return &sampling_; }
  bool is_unwanted() const noexcept override;

  // For sessions. Any thread.

  /// Takes a session until `unwanted` returns true. Called on a thread that runs no steps. The snapshot may be null.
  using session_target = std::function<diagnostics(
      const session& state, const std::shared_ptr<const kv_snapshot>& snapshot, const std::function<bool()>& unwanted)>;
  void start_copy(std::shared_ptr<plain_operation> wait, session_target target);

  /// False: it is refused, and `wait` is completed. Otherwise finish_open() or fail_opening() has to follow.
  bool begin_open(std::shared_ptr<open_operation> wait);
  session_limits limits() const;
  void finish_open(read_session found);

  /// One of the two, whether the session's numbers are finite or not. Takes long. `name` begins the error.
  void check_and_finish_open(const std::string& name, read_session found) noexcept;
  void check_numbers(const std::string& name, const read_session& found) const;
  void fail_opening(const diagnostics& why);

  void report(const diagnostics& why) noexcept;  ///< has error() return it
  const std::shared_ptr<engine_loop>& engine() const noexcept { return engine_; }

 private:
  struct run_command {
    std::vector<token> fed;
    scheduler::output wanted;
    std::shared_ptr<const cogen::sampler> sampled_by = {};
    std::vector<token> drafts = {};
  };
  struct truncate_command {
    int length;
  };
  struct constrain_command {
    std::unique_ptr<guide> next_guide;
  };
  struct fork_command {
    std::shared_ptr<sequence_state> child;
  };
  struct suspend_command {
    std::shared_ptr<plain_operation> wait;
  };
  struct save_command {
    std::shared_ptr<plain_operation> wait;
    session_target target;
    std::optional<scheduler::kept_snapshot> copy = {};  ///< requested from the scheduler
  };
  using command =
      std::variant<run_command, truncate_command, constrain_command, fork_command, suspend_command, save_command>;
  static bool is_run(const command& item) { return std::holds_alternative<run_command>(item); }
  static bool is_operation(const command& item) {
    return is_run(item) || std::holds_alternative<suspend_command>(item) || std::holds_alternative<save_command>(item);
  }

  std::shared_ptr<sequence_state> self() { return std::static_pointer_cast<sequence_state>(shared_from_this()); }
  scheduler::sequence_options served_as() const;
  bool busy();
  diagnostics conflict() const noexcept;  // of a new operation with the pending one
  std::optional<diagnostics> problem(const std::vector<token>& fed, int sampled) const;
  std::optional<diagnostics> outside_vocabulary(const std::vector<token>& tokens) const;
  template <class Operation, class Result>
  void start_sampling(std::shared_ptr<Operation>& pending, std::shared_ptr<Operation> wait, Result none,
                      std::vector<token> tokens, sampling_params params, std::vector<token> drafts);
  std::optional<diagnostics> add_run(run_command run);  // changes nothing if it throws
  void withdraw() noexcept;
  bool awaits_stored_prefix(const std::vector<command>& commands, loop_view& loop);
  void notify_engine();
  void undo(std::size_t length, loop_view& loop);
  void extend_history(const scheduler::token_list& tokens);
  void truncate_history(std::size_t length);
  void execute(run_command& run, loop_view& loop);
  void execute(truncate_command& truncation, loop_view& loop);
  void execute(constrain_command& replacement, loop_view& loop);
  void execute(fork_command& fork, loop_view& loop);
  void execute(suspend_command& suspension, loop_view& loop);
  void execute(save_command& save, loop_view& loop);
  void continue_suspending(loop_view& loop);
  void continue_saving(loop_view& loop);
  void write(const std::shared_ptr<const kv_snapshot>& snapshot, const scheduler::snapshot& extent);
  session saved_state() const;
  void read(const std::filesystem::path& path);
  void restore(read_session& loaded, loop_view& loop);
  bool awaits(const std::shared_ptr<plain_operation>& wait) const;
  void start_plain(std::shared_ptr<plain_operation> wait, command item);
  void complete_plain(const std::shared_ptr<plain_operation>& wait, const diagnostics& why = {});
  void end_run(diagnostics why, loop_view& loop);
  void complete_waiter(const diagnostics& why);

  const open_options options_;
  const opened_by opener_;
  scheduler::encoder_tokens encoder_input_;  // changes only while a session is opened

  sampling_state sampling_;  // its history changes on the engine thread and under the lock: either may read it

  // The engine thread only.
  bool awaits_fork_ = false;                     // its parent has still to carry out the fork that it is
  logits gathered_;                              // of the forward in progress
  std::vector<sampled_token> sampled_;           // by the decode in progress, if it has drafts
  std::shared_ptr<plain_operation> suspending_;  // waits for swap_ended()
  std::optional<save_command> saving_;           // waits for swap_ended()

  // Under the lock.
  std::size_t held_ = 0;  // tokens of the history, without those of an operation whose handler has not run
  std::size_t fed_ = 0;   // tokens, by the pending operation
  std::vector<command> commands_;
  std::shared_ptr<forward_operation> forward_;
  std::shared_ptr<decode_operation> decode_;
  std::shared_ptr<draft_operation> draft_;
  std::shared_ptr<plain_operation> plain_;   // of suspend() or save()
  std::shared_ptr<open_operation> opening_;  // of open()
  std::optional<read_session> read_;         // the session that open() has read
  std::optional<std::size_t> undo_to_;       // a cancelled operation had begun: number of tokens held before it
  bool refused_ = false;                     // an operation was not admitted; process() has yet to count it
  bool aborted_ = false;
  bool ended_ = false;
  bool exact_ = true;
  bool awaits_client_ = false;  // the client has a result, and no further operation has been processed
  diagnostics diagnostics_;
};

}  // namespace cogen::detail
