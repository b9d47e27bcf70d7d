#pragma once

#include "manual_clock.hpp"
#include "simulation/toy_cache.hpp"
#include "toy_runner.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

/// What tests look at and meddle with while an engine owns the runner.
struct keeping_control {
  explicit keeping_control(const scheduler::limits& within) : cache(within) {}

  scheduler::toy::cache cache;
  swap_listener* listener = nullptr;
  std::string wrong;  // what could not be done
  int launches = 0, failing_launch = -1;
  int transfers = 0, failing_transfer = -1;
  int swap_ins = 0;

  /// Those on their way do; where there is no memory for that, later.
  void end_transfers() try {
    if (!listener) return;
    for (const auto name : cache.on_their_way()) end(name, transfers++ != failing_transfer);
  } catch (const std::bad_alloc&) {
  }

 private:
  void end(scheduler::swap_id name, bool ok) {
    try {
      cache.end(name, ok);
    } catch (const std::bad_alloc&) {
      ok = false;
    }
    listener->on_swap_done(name, ok ? nullptr : std::make_exception_ptr(std::runtime_error("the bus has lost it")));
  }
};

/// The tokens that a slot held.
class toy_snapshot final : public kv_snapshot {
 public:
  explicit toy_snapshot(std::vector<token> tokens) : tokens(std::move(tokens)) {}

  std::size_t size() const noexcept override { return std::as_bytes(std::span(tokens)).size(); }
  int encoder_input() const noexcept override { return 0; }
  snapshot_reader read() const override {
    return [rest = std::as_bytes(std::span(tokens))]() mutable { return std::exchange(rest, {}); };
  }

  const std::vector<token> tokens;
};

/// The toy model over a cache that throws at whatever a real one could not do; it swap-outs, restores and gives out
/// snapshots. Transfers end when the test says so.
class keeping_runner final : public runner {
 public:
  explicit keeping_runner(std::shared_ptr<keeping_control> control) : control_(std::move(control)) {}
  ~keeping_runner() override { control_->listener = nullptr; }

  int vocabulary() const override { return toy_vocabulary; }

  void launch(step& step) override try {
    if (control_->launches++ == control_->failing_launch) throw std::runtime_error("the bus is on fire");
    apply(step);
    control_->swap_ins += static_cast<int>(step.swap_ins.size());
    control_->listener = &step.swaps();
    for (std::size_t i = 0; i < step.rows.size(); ++i) run(step, i);
    step.done();
  } catch (const std::logic_error& e) {
    control_->wrong = e.what();
    throw;
  }

  std::string snapshot_format() const override { return "toy"; }
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const override {
    const auto& cache = control_->cache;
    return cache.keeps(name) ? std::make_shared<toy_snapshot>(cache.kept(name).tokens) : nullptr;
  }
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> saved) override {
    const auto& tokens = dynamic_cast<const toy_snapshot&>(*saved).tokens;
    control_->cache.keep(name, {tokens, {}, static_cast<int>(tokens.size())});
    lost_one_ = false;
  }
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int /*encoder input*/) const override {
    lost_one_ = true;
    std::vector<token> tokens(bytes.size() / sizeof(token));
    std::memcpy(tokens.data(), bytes.data(), bytes.size());
    return std::make_shared<toy_snapshot>(std::move(tokens));
  }

 private:
  void apply(const scheduler::step& step) {
    if (!lost_one_) return control_->cache.apply(step);
    auto rest = step;
    std::erase_if(rest.drops, [this](auto name) { return !control_->cache.keeps(name); });
    control_->cache.apply(rest);
  }

  void run(step& step, std::size_t index) {
    const auto& row = step.rows[index];
    control_->cache.append(row.slot, step.tokens_of(row));
    const auto held = control_->cache.content(row.slot);
    auto last = toy_scores(held);
    if (row.wanted == scheduler::output::sample) step.sample(index, last);
    if (row.wanted == scheduler::output::last_logits) step.set_output(index, {.scores = logits(last, toy_vocabulary)});
    if (row.wanted != scheduler::output::all_logits) return;
    row_output output;
    for (auto length = held.size() - static_cast<std::size_t>(row.count) + 1; length <= held.size(); ++length)
      output.scores.append(logits(toy_scores(std::span(held).first(length)), toy_vocabulary));
    step.set_output(index, std::move(output));
  }

  std::shared_ptr<keeping_control> control_;
  mutable bool lost_one_ = false;  // a snapshot was not made, or not kept
};

/// An externally stepped engine over it: three slots of short blocks, spare ones for what is kept, urgent requests
/// first.
struct keeping_engine {
  keeping_engine() : running(parts(), {.external_stepping = true}) {}

  static scheduler::limits within() {
    scheduler::limits limits;
    limits.slots = 3;
    limits.spare_slots = 2;
    limits.prefix_caching = true;
    limits.max_sequence_length = 40;
    limits.max_batched_tokens = 8;
    limits.usage = {.fixed = 1, .per_block = 1, .block = 4};
    limits.idle_timeout = std::chrono::milliseconds(2);
    limits.swap_bytes = 60;
    return limits;
  }

  engine_parts parts() {
    engine_parts result;
    result.runner = std::make_unique<keeping_runner>(control);
    result.limits = within();
    result.scheduling_policy = scheduler::by_priority();
    result.fingerprint = "toy";
    result.clock = time;
    return result;
  }

  std::shared_ptr<keeping_control> control = std::make_shared<keeping_control>(within());
  std::shared_ptr<manual_clock> time = std::make_shared<manual_clock>();
  engine running;
};

}  // namespace cogen::test
