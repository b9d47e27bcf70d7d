#pragma once

#include "engine/manual_clock.hpp"
#include "load/temporary_folder.hpp"
#include "simulation/engine/coverage.hpp"
#include "simulation/engine/device.hpp"
#include "simulation/engine/settings.hpp"
#include "simulation/script.hpp"

#include <cogen/engine.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cogen::engine_simulation {

class client;

/// What can befall an engine and all that are with it.
enum class misfortune { launch_fails, step_fails, engine_stopped, engine_destroyed, count };

/// A real engine, externally stepped, over the toy device, with its clients, in virtual time.
class world {
 public:
  world(const settings& setup, coverage& seen, simulation::log received);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  // For who plays.

  void begin_action(int number) { action_ = number; }
  void round(bool hold);
  void run_handlers(bool drained);
  bool release() { return device_->release(); }
  bool end_transfer(random& chance) { return device_->end_transfer(chance); }
  void advance_clock(clock::duration time) { clock_->advance(time); }
  void befall(misfortune event);
  std::vector<std::shared_ptr<client>>& clients() { return clients_; }

  /// After every action: throws std::logic_error where something is wrong.
  void check();

  /// Brings everything to an end: clients are given turns until they have gone. Then nothing may be left.
  void drain(random& chance);

  // For clients.

  void join(std::shared_ptr<client> added, random& chance);
  const settings& setup() const { return settings_; }
  const language& spoken() const { return settings_.spoken; }
  device& hardware() { return *device_; }
  coverage& seen() { return seen_; }
  bool alive() const { return engine_ && !engine_->error(); }
  engine* running() { return engine_ ? &*engine_ : nullptr; }
  net::any_io_executor own_executor() { return context_.get_executor(); }
  clock::time_point now() const { return clock_->now(); }

  /// Counts the rounds of the engine: what was asked for in this one has not been taken up.
  std::uint64_t rounds() const { return rounds_; }

  /// A token that starts whatever belongs to the client that comes in this action.
  token tag();

  /// Whether what such a client says is in other names.
  bool renames(std::uint64_t tenant, const std::optional<std::string>& cache_salt) const;

  /// The other names.
  void rename(std::vector<token>& tokens) const;

  /// One client alone has come with it so far.
  bool is_unique(token tag) const { return tagged_.at(tag).size() == 1; }

  /// A file of its own, in a folder that goes with the world.
  std::filesystem::path new_file();

  /// A client suspends its own sequence.
  void expect_preemption() { ++suspend_requested_; }

  /// No client may begin anything new.
  bool closing() const { return closing_; }

  /// Whether this is what operations fail with because the engine is dead.
  bool is_death(error_code code) const;

  /// The engine is stopped; by a client, or from outside.
  void stop_engine();

  /// The end of the history: the first such error counts.
  void blame(std::exception_ptr error);

  template <class... Parts>
  void say(fmt::format_string<Parts...> text, Parts&&... parts) const {
    if (log_) log_(fmt::format(text, std::forward<Parts>(parts)...));
  }

 private:
  engine make_engine();
  void check_stats();
  bool has_gone(const client& seq);
  void check_empty();
  void fail_step(bool at_launch);
  std::string unfinished() const;

  const settings settings_;
  coverage& seen_;
  const simulation::log log_;
  std::shared_ptr<test::manual_clock> clock_ = std::make_shared<test::manual_clock>();
  std::shared_ptr<device> device_;
  std::optional<engine> engine_;
  net::io_context context_;
  std::vector<std::shared_ptr<client>> clients_;
  std::exception_ptr blamed_;
  bool doomed_ = false;  // a misfortune has befallen it
  std::uint64_t rounds_ = 0;
  std::uint64_t preempted_ = 0, suspend_requested_ = 0;
  std::map<token, std::set<int>> tagged_;  // in which actions
  int action_ = 0;
  bool closing_ = false;
  std::optional<temporary_folder> folder_;  // of the files, from the first on
  int files_ = 0;
};

}  // namespace cogen::engine_simulation
