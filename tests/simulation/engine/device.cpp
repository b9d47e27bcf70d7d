#include "simulation/engine/device.hpp"

#include "engine/runner/row_outputs.hpp"
#include "sampling/described_sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::engine_simulation {
namespace {

using simulation_snapshot = scheduler::toy::cache::snapshot;

/// Four numbers (how far the slot had reached, the oldest that its rings hold, how many tokens there are, how many
/// bytes of a real cache), the encoder input, the tokens, those bytes.
class toy_snapshot final : public kv_snapshot {
 public:
  toy_snapshot(const simulation_snapshot& source, const kept_cache::bytes& kept)
      : encoder_input_(static_cast<int>(source.encoder_input.size())) {
    add({{source.high_water_mark, source.oldest, static_cast<int>(source.tokens.size()),
          static_cast<int>(kept.size())}});
    add(source.encoder_input);
    add(source.tokens);
    bytes_.insert(bytes_.end(), kept.begin(), kept.end());
  }
  toy_snapshot(std::vector<std::byte> bytes, int encoder_input)
      : bytes_(std::move(bytes)), encoder_input_(encoder_input) {}

  std::size_t size() const noexcept override { return bytes_.size(); }
  int encoder_input() const noexcept override { return encoder_input_; }
  snapshot_reader read() const override {
    return [rest = std::span(bytes_)]() mutable { return std::exchange(rest, {}); };
  }

  simulation_snapshot state() const {
    return {.tokens = numbers(4 + encoder_input_, number(2)),
            .encoder_input = numbers(4, encoder_input_),
            .high_water_mark = number(0),
            .oldest = number(1)};
  }
  kept_cache::bytes kept() const { return {bytes_.end() - number(3), bytes_.end()}; }

 private:
  void add(const std::vector<token>& more) {
    const auto bytes = std::as_bytes(std::span(more));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<token> numbers(int first, int count) const {
    std::vector<token> result(static_cast<std::size_t>(count));
    const auto bytes =
        std::span(bytes_).subspan(static_cast<std::size_t>(first) * sizeof(token), result.size() * sizeof(token));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(result)).begin());
    return result;
  }
  int number(int index) const { return numbers(index, 1).front(); }

  std::vector<std::byte> bytes_;
  int encoder_input_;
};

}  // namespace

/// What the engine owns of a device; when it goes, so do the steps that were held.
class device::face final : public runner {
 public:
  explicit face(std::shared_ptr<device> owner) : device_(std::move(owner)) {}
  ~face() override {
    device_->held_.clear();
    device_->listener_ = nullptr;
    device_->model_.reset();
  }

  int vocabulary() const override { return device_->settings_.spoken.vocabulary(); }
  void launch(step& step) override { device_->launch(step); }

  std::string snapshot_format() const override { return device_->settings_.snapshots ? "toy" : ""; }
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const override {
    const auto& source = device_->cache_;
    if (!source.keeps(name)) return nullptr;
    const auto& kept = device_->kept_;
    const auto& model = device_->model_;
    return std::make_shared<toy_snapshot>(source.kept(name), kept    ? kept->snapshot(name)
                                                             : model ? model->snapshot(name)
                                                                     : kept_cache::bytes());
  }
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> stored) override {
    device_->seen_.visit(feature::snapshot_opened);
    const auto& snapshot = dynamic_cast<const toy_snapshot&>(*stored);
    device_->cache_.keep(name, snapshot.state());
    if (device_->kept_) device_->kept_->keep(name, snapshot.kept());
    if (device_->model_) device_->model_->keep(name, snapshot.kept(), snapshot.encoder_input());
  }
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int encoder_input) const override {
    return std::make_shared<toy_snapshot>(std::move(bytes), encoder_input);
  }

 private:
  std::shared_ptr<device> device_;
};

device::device(const settings& setup, coverage& seen, const simulation::log& received)
    : settings_(setup), seen_(seen), log_(received), cache_(setup.within, setup.rings) {
  if (setup.kept.kind != cache_kind::none) kept_.emplace(setup.kept, setup.within);
  if (setup.over) model_.emplace(setup, [this](scheduler::swap_id name, bool ok) { cache_.end(name, ok); });
}

std::unique_ptr<runner> device::runner_on(std::shared_ptr<device> self) {
  return std::make_unique<face>(std::move(self));
}

void device::launch(step& step) {
  describe(step);
  if (breaks_) std::rethrow_exception(std::exchange(breaks_, nullptr));
  check(step);
  const bool held = holds_ || !held_.empty();
  if (!held || !settings_.late) carry_out(step);
  if (!held) return step.done();
  seen_.visit(feature::held);
  held_.push_back(&step);
}

bool device::release(std::exception_ptr error) {
  if (held_.empty()) return false;
  auto& step = *held_.front();
  held_.pop_front();
  if (!error && settings_.late) {
    try {
      carry_out(step);
      seen_.visit(feature::carried_out_late);
    } catch (...) {
      error = std::current_exception();
    }
  }
  step.done(std::move(error));
  return true;
}

bool device::end_transfer(simulation::random& chance) {
  if (model_) return end_model_transfer(chance);
  const auto names = cache_.on_their_way();
  if (names.empty() || !listener_) return false;
  const auto name = names[static_cast<std::size_t>(chance.between(0, static_cast<int>(names.size()) - 1))];
  const bool ok = !chance.chance(settings_.losing);
  if (log_) log_(fmt::format("  transfer {} {}", static_cast<std::uint64_t>(name), ok ? "ends" : "fails"));
  seen_.visit(ok ? feature::transferred : feature::lost);
  cache_.end(name, ok);
  if (kept_) kept_->end(name, ok);
  listener_->on_swap_done(name, ok ? nullptr : std::make_exception_ptr(std::runtime_error(lost)));
  return true;
}

/// In order, as a real one's end.
bool device::end_model_transfer(simulation::random& chance) {
  if (!model_->transfers()) return false;
  const bool ok = !chance.chance(settings_.losing);
  if (log_) log_(fmt::format("  a transfer {}", ok ? "ends" : "fails"));
  seen_.visit(ok ? feature::transferred : feature::lost);
  model_->end_transfer(ok ? nullptr : std::make_exception_ptr(std::runtime_error(lost)));
  return true;
}

void device::carry_out(step& step) {
  cache_.apply(step);
  if (kept_) kept_->apply(step);
  listener_ = &step.swaps();
  sampled_before_ = std::exchange(sampled_, {});
  for (std::size_t i = 0; i < step.rows.size(); ++i) append(step, i);
  if (model_) run_model(step);
  for (std::size_t i = 0; i < step.rows.size() && !model_; ++i) set_output(step, i);
  if (kept_) kept_->run(step, cache_);
  if (cache_.bytes() > settings_.within.memory_bytes) throw std::logic_error("the cache takes more memory than it may");
}

/// What memory is refused to may fail, and so may the engine.
void device::run_model(step& step) {
  try {
    model_->run(step);
  } catch (...) {
    refused_memory_ |= model_->refused_memory();
    throw;
  }
  refused_memory_ |= model_->refused_memory();
  model_->check(cache_);
}

void device::append(const step& step, std::size_t index) {
  const auto& row = step.rows[index];
  if (row.encoder_input) {
    cache_.read(row.slot, *row.encoder_input);
    seen_.visit(feature::encoder_read);
  }
  if (row.chained) seen_.visit(feature::chained);
  cache_.append(row.slot, row.chained ? std::span(&sampled_before_.at(row.sequence), 1) : step.tokens_of(row));
}

void device::set_output(step& step, std::size_t index) {
  const auto& row = step.rows[index];
  const auto content = cache_.content(row.slot);
  const auto& encoder_input = cache_.encoder_input(row.slot);
  const auto scores = [&](std::size_t length) {
    return settings_.spoken.scores(std::span(content).first(length), encoder_input);
  };
  switch (row.wanted) {
    case scheduler::output::nothing:
      return;
    case scheduler::output::sample:
      return sample(step, index, scores(content.size()));
    case scheduler::output::last_logits:
      step.set_output(index, {.scores = logits(scores(content.size()), settings_.spoken.vocabulary())});
      return;
    case scheduler::output::all_logits: {
      row_output result;
      for (auto i = content.size() - static_cast<std::size_t>(row.count); i < content.size(); ++i)
        result.scores.append(logits(scores(i + 1), settings_.spoken.vocabulary()));
      step.set_output(index, std::move(result));
      return;
    }
  }
}

/// As a device does that samples by itself, where the settings say so and it can; rows that are chained it alone can.
void device::sample(step& step, std::size_t index, std::vector<float> scores) {
  const auto& row = step.rows[index];
  const auto& inputs = step.sampling.rows[index];
  const auto& sample = step.sampling.samples[inputs.first + static_cast<std::size_t>(row.scores())];
  const bool by_host =
      inputs.is_out_of_memory || inputs.masks || sample.by_host || !(settings_.sampling || row.chained);
  if (by_host) {
    step.sample(index, scores);
  } else {
    seen_.visit(feature::sampled_by_device);
    if (sample.unknown_last) seen_.visit(feature::sampled_after_unknown);
    const auto [status, sampled] =
        described_sampling(sample, step.sampling.lists)(std::move(scores), device_sampled_[row.slot]);
    step.set_output(index, detail::output_of(status, sampled));
  }
  device_sampled_[row.slot] = sampled_[row.sequence] = std::max(0, step.sampled_after(index, 0));
}

void device::check(const scheduler::step& step) const {
  if (held() >= settings_.within.depth) throw std::logic_error("more steps are in flight than may be");
  std::set<scheduler::sequence_id> sequences;
  std::set<int> slots;
  int tokens = 0;
  for (const auto& row : step.rows) {
    tokens += row.count;
    if (!sequences.insert(row.sequence).second) throw std::logic_error("a sequence has two rows in one step");
    if (!slots.insert(row.slot).second) throw std::logic_error("a slot has two rows in one step");
  }
  if (tokens > settings_.within.max_batched_tokens) throw std::logic_error("a step has more tokens than it may");
}

int device::held_of(std::span<const token> tokens, std::size_t common) const {
  std::size_t most = 0;
  for (int slot = 0; slot < settings_.within.all_slots(); ++slot) {
    if (cache_.length(slot) == 0) continue;
    const auto content = cache_.content(slot);
    if (content.size() <= common) continue;
    const bool same = content.size() <= tokens.size() && std::equal(content.begin(), content.end(), tokens.begin());
    if (same) most = std::max(most, content.size());
  }
  return static_cast<int>(most);
}

int device::filled_slots() const {
  int filled = 0;
  for (int slot = 0; slot < settings_.within.all_slots(); ++slot) filled += cache_.length(slot) > 0;
  return filled;
}

void device::describe(const scheduler::step& step) const {
  if (!log_) return;
  std::string line = fmt::format("  step {}:", step.number);
  for (const int slot : step.clears) line += fmt::format(" clear {};", slot);
  for (const auto& each : step.truncations) line += fmt::format(" cut {} to {};", each.slot, each.length);
  for (const auto& each : step.releases) line += fmt::format(" release {} to {};", each.slot, each.length);
  for (const auto& each : step.forks)
    line += fmt::format(" {} begins with {} of {}, of which it reads {} in {};", each.slot, each.end, each.source,
                        each.shared, each.parent);
  for (const auto& each : step.swap_outs)
    line += fmt::format(" swap out {} as {};", each.slot, static_cast<std::uint64_t>(each.name));
  for (const auto& each : step.swap_ins)
    line += fmt::format(" restore {} to {};", static_cast<std::uint64_t>(each.name), each.slot);
  for (const auto& each : step.rows)
    line += fmt::format(" [sequence {} slot {} x{}{}{}{}]", static_cast<std::uint64_t>(each.sequence), each.slot,
                        each.count, each.encoder_input ? " encoder input" : "", each.chained ? " chained" : "",
                        each.wanted == scheduler::output::sample ? " sample" : "");
  if (const auto allowed = model_ ? model_->allocations_in(step.number) : std::nullopt)
    line += fmt::format(" with {} allocations", *allowed);
  log_(line);
}

}  // namespace cogen::engine_simulation
