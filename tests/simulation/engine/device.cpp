#include "simulation/engine/device.hpp"

#include "sampling/described_draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::engine_simulation {
namespace {

using simulation_image = scheduler::toy::cache::image;

/// Four numbers (how far the slot had reached, the oldest that its rings hold, how many tokens there are, how many
/// bytes of a real cache), the source, the tokens, those bytes.
class toy_image final : public slot_image {
 public:
  toy_image(const simulation_image& what, const kept_cache::bytes& kept)
      : source_(static_cast<int>(what.source.size())) {
    add({{what.reach, what.oldest, static_cast<int>(what.tokens.size()), static_cast<int>(kept.size())}});
    add(what.source);
    add(what.tokens);
    bytes_.insert(bytes_.end(), kept.begin(), kept.end());
  }
  toy_image(std::vector<std::byte> bytes, int source) : bytes_(std::move(bytes)), source_(source) {}

  std::size_t size() const noexcept override { return bytes_.size(); }
  int source() const noexcept override { return source_; }
  void read(const std::function<void(std::span<const std::byte>)>& visit) const override { visit(bytes_); }

  simulation_image what() const {
    return {.tokens = numbers(4 + source_, number(2)),
            .source = numbers(4, source_),
            .reach = number(0),
            .oldest = number(1)};
  }
  kept_cache::bytes kept() const { return {bytes_.end() - number(3), bytes_.end()}; }

 private:
  void add(const std::vector<token>& more) {
    const auto bytes = std::as_bytes(std::span(more));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<token> numbers(int first, int count) const {
    std::vector<token> all(static_cast<std::size_t>(count));
    const auto bytes =
        std::span(bytes_).subspan(static_cast<std::size_t>(first) * sizeof(token), all.size() * sizeof(token));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(all)).begin());
    return all;
  }
  int number(int index) const { return numbers(index, 1).front(); }

  std::vector<std::byte> bytes_;
  int source_;
};

}  // namespace

/// What the engine owns of a device; when it goes, so do the steps that were held.
class device::face final : public runner {
 public:
  explicit face(std::shared_ptr<device> of) : device_(std::move(of)) {}
  ~face() override {
    device_->held_.clear();
    device_->listener_ = nullptr;
  }

  int vocabulary() const override { return device_->settings_.spoken.vocabulary(); }
  void launch(step_run& step) override { device_->launch(step); }

  std::string image_format() const override { return device_->settings_.images ? "toy" : ""; }
  std::shared_ptr<const slot_image> image(scheduler::ticket name) const override {
    const auto& from = device_->cache_;
    if (!from.keeps(name)) return nullptr;
    const auto& kept = device_->kept_;
    return std::make_shared<toy_image>(from.kept(name), kept ? kept->image(name) : kept_cache::bytes());
  }
  void keep(scheduler::ticket name, std::shared_ptr<const slot_image> what) override {
    device_->seen_.visit(feature::image_opened);
    const auto& image = dynamic_cast<const toy_image&>(*what);
    device_->cache_.keep(name, image.what());
    if (device_->kept_) device_->kept_->keep(name, image.kept());
  }
  std::shared_ptr<const slot_image> make_image(std::vector<std::byte> bytes, int source) const override {
    return std::make_shared<toy_image>(std::move(bytes), source);
  }

 private:
  std::shared_ptr<device> device_;
};

device::device(const settings& of, coverage& seen, const simulation::log& told)
    : settings_(of), seen_(seen), told_(told), cache_(of.within, of.rings) {
  if (of.kept.kind != cache_kind::none) kept_.emplace(of.kept, of.within);
}

std::unique_ptr<runner> device::runner_on(std::shared_ptr<device> self) {
  return std::make_unique<face>(std::move(self));
}

void device::launch(step_run& step) {
  describe(step.plan());
  if (breaks_) std::rethrow_exception(std::exchange(breaks_, nullptr));
  check(step.plan());
  if (settings_.draws) describe_draws(step);
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
  const auto names = cache_.on_their_way();
  if (names.empty() || !listener_) return false;
  const auto name = names[static_cast<std::size_t>(chance.between(0, static_cast<int>(names.size()) - 1))];
  const bool ok = !chance.chance(settings_.losing);
  if (told_) told_(fmt::format("  transfer {} {}", static_cast<std::uint64_t>(name), ok ? "ends" : "fails"));
  seen_.visit(ok ? feature::transferred : feature::lost);
  cache_.end(name, ok);
  if (kept_) kept_->end(name, ok);
  listener_->transferred(name, ok ? nullptr : std::make_exception_ptr(std::runtime_error(lost)));
  return true;
}

void device::carry_out(step_run& step) {
  cache_.apply(step.plan());
  if (kept_) kept_->apply(step.plan());
  listener_ = &step.transfers();
  sampled_before_ = std::exchange(sampled_, {});
  for (std::size_t i = 0; i < step.plan().rows.size(); ++i) run(step, static_cast<int>(i));
  if (kept_) kept_->run(step.plan(), cache_);
  described_.erase(step.plan().number);
  if (cache_.bytes() > settings_.within.memory_bytes) throw std::logic_error("the cache takes more memory than it may");
}

void device::run(step_run& step, int index) {
  const auto& row = step.plan().rows[static_cast<std::size_t>(index)];
  if (row.source) {
    cache_.read(row.slot, *row.source);
    seen_.visit(feature::source_read);
  }
  if (row.chained) seen_.visit(feature::chained);
  cache_.append(row.slot, row.chained ? std::span(&sampled_before_.at(row.sequence), 1) : step.plan().tokens_of(row));
  const auto content = cache_.content(row.slot);
  const auto& source = cache_.source(row.slot);
  const auto scores = [&](std::size_t length) {
    return settings_.spoken.scores(std::span(content).first(length), source);
  };
  auto& outcome = step.outcomes()[static_cast<std::size_t>(index)];
  switch (row.wanted) {
    case scheduler::output::nothing:
      return;
    case scheduler::output::sample: {
      outcome = draw(step, index, scores(content.size()));
      sampled_[row.sequence] = outcome.chosen.id;
      return;
    }
    case scheduler::output::last_logits:
      outcome.scores = logits(scores(content.size()), settings_.spoken.vocabulary());
      return;
    case scheduler::output::all_logits:
      for (auto i = content.size() - static_cast<std::size_t>(row.count); i < content.size(); ++i)
        outcome.scores.append(logits(scores(i + 1), settings_.spoken.vocabulary()));
      return;
  }
}

void device::describe_draws(step_run& step) {
  auto& [rows, lists] = described_[step.plan().number];
  for (std::size_t i = 0; i < step.plan().rows.size(); ++i) {
    const auto& row = step.plan().rows[i];
    auto& how = rows.emplace_back();
    how.slot = row.slot;
    how.by_host = row.wanted != scheduler::output::sample ||
                  !step.drawer_of(static_cast<int>(i)).describe(row.chained, how, lists);
  }
}

row_outcome device::draw(step_run& step, int index, std::vector<float> scores) {
  const auto found = described_.find(step.plan().number);
  if (found == described_.end()) return step.drawer_of(index).draw(scores);
  const auto& how = found->second.rows[static_cast<std::size_t>(index)];
  if (how.by_host) return step.drawer_of(index).draw(scores);
  seen_.visit(feature::drawn_by_device);
  if (how.unknown_last) seen_.visit(feature::drawn_after_unknown);
  const auto [status, drawn] = test::described_draw(how, found->second.lists)(std::move(scores), drawn_[how.slot]);
  drawn_[how.slot] = drawn;
  return device_outcome(status, drawn);
}

void device::check(const scheduler::plan& plan) const {
  if (held() >= settings_.within.depth) throw std::logic_error("more steps are in flight than may be");
  std::set<scheduler::sequence_id> sequences;
  std::set<int> slots;
  int tokens = 0;
  for (const auto& row : plan.rows) {
    tokens += row.count;
    if (!sequences.insert(row.sequence).second) throw std::logic_error("a sequence has two rows in one plan");
    if (!slots.insert(row.slot).second) throw std::logic_error("a slot has two rows in one plan");
  }
  if (tokens > settings_.within.step_tokens) throw std::logic_error("a plan has more tokens than it may");
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

void device::describe(const scheduler::plan& plan) const {
  if (!told_) return;
  std::string line = fmt::format("  plan {}:", plan.number);
  for (const int slot : plan.clears) line += fmt::format(" clear {};", slot);
  for (const auto& each : plan.truncations) line += fmt::format(" cut {} to {};", each.slot, each.length);
  for (const auto& each : plan.trims) line += fmt::format(" trim {} to {};", each.slot, each.length);
  for (const auto& each : plan.adoptions) line += fmt::format(" {} reads {} of {};", each.slot, each.length, each.of);
  for (const auto& each : plan.copies)
    line += fmt::format(" copy {}..{} from {} to {};", each.begin, each.end, each.from, each.to);
  for (const auto& each : plan.spills)
    line += fmt::format(" spill {} as {};", each.slot, static_cast<std::uint64_t>(each.name));
  for (const auto& each : plan.restores)
    line += fmt::format(" restore {} to {};", static_cast<std::uint64_t>(each.name), each.slot);
  for (const auto& each : plan.rows)
    line += fmt::format(" [sequence {} slot {} x{}{}{}{}]", static_cast<std::uint64_t>(each.sequence), each.slot,
                        each.count, each.source ? " source" : "", each.chained ? " chained" : "",
                        each.wanted == scheduler::output::sample ? " sample" : "");
  told_(line);
}

}  // namespace cogen::engine_simulation
