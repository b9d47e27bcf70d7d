#include "simulation/engine/model_device.hpp"

#include "scheduler/no_memory.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::engine_simulation {
namespace {

detail::swap_room room_of(const settings& setup, std::shared_ptr<cache::transfer> transfer) {
  return {.bytes = setup.within.swap_bytes, .transfer = std::move(transfer)};
}

}  // namespace

/// Passes on what the runner reports, for as long as there is an engine. What ends while a step is launched, which may
/// have been refused memory, is passed on after that.
class model_device::listener final : public swap_listener {
 public:
  explicit listener(transfer_end ended) : ended_(std::move(ended)) {}

  void belong_to(swap_listener* engine) { engine_ = engine; }
  void begin_launch(std::size_t transfers) {
    launching_ = true;
    ended_at_launch_.reserve(transfers);
  }
  void end_launch() {
    launching_ = false;
    for (auto& [name, error] : std::exchange(ended_at_launch_, {})) on_swap_done(name, std::move(error));
  }
  void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept override {
    if (launching_) return static_cast<void>(ended_at_launch_.emplace_back(name, std::move(error)));
    if (!engine_) return;
    ended_(name, !error);
    engine_->on_swap_done(name, std::move(error));
  }
  void post_to_engine_thread(std::function<void()> job) noexcept override {
    if (engine_) engine_->post_to_engine_thread(std::move(job));
  }

 private:
  const transfer_end ended_;
  std::vector<std::pair<scheduler::swap_id, std::exception_ptr>> ended_at_launch_;
  bool launching_ = false;
  swap_listener* engine_ = nullptr;
};

model_device::model_device(const settings& setup, transfer_end ended)
    : settings_(setup),
      slots_(std::make_shared<detail::cpu_slots>(setup.over->make_cache(setup.kept_by_model))),
      listener_(std::make_unique<listener>(std::move(ended))),
      runner_(setup.over, slots_, "simulated", room_of(setup, transfer_), workspace(1)) {}

/// A runner waits for its transfers.
model_device::~model_device() {
  listener_->belong_to(nullptr);
  listener_->end_launch();
  while (transfers()) transfer_->finish_one();
}

void model_device::run(step& outer) {
  listener_->belong_to(&outer.swaps());
  const std::function<void()> nothing = [] {};
  step inner(*listener_, nothing);
  static_cast<scheduler::step&>(inner) = outer;
  for (const auto& each : outer.sampling.rows) {
    inner.add_row_sampling() = each;
    inner.pad_samples();
  }
  inner.sampling = outer.sampling;
  listener_->begin_launch(outer.swap_outs.size() + outer.swap_ins.size());
  launch(inner);
  listener_->end_launch();
  for (std::size_t i = 0; i < outer.rows.size(); ++i) outer.set_output(i, std::move(inner.output_of(i)));
}

std::optional<int> model_device::allocations_in(std::uint64_t step) const {
  random chance(settings_.refusals ^ step);
  return chance.chance(settings_.refusing) ? std::optional(chance.between(0, 60)) : std::nullopt;
}

void model_device::launch(step& inner) {
  std::optional<scheduler::no_memory> none;
  if (const auto allowed = allocations_in(inner.number)) {
    refused_memory_ = true;
    none.emplace(*allowed);
  }
  runner_.launch(inner);
}

void model_device::check(const scheduler::toy::cache& other) const {
  for (int slot = 0; slot < slots_->count(); ++slot)
    if (!other.filling(slot) && slots_->kv.length(slot) != other.length(slot))
      throw std::logic_error(fmt::format("slot {} of the model's cache holds {} tokens instead of {}", slot,
                                         slots_->kv.length(slot), other.length(slot)));
}

void model_device::end_transfer(std::exception_ptr error) {
  error ? transfer_->fail_one(std::move(error)) : transfer_->finish_one();
}

std::vector<std::byte> model_device::snapshot(scheduler::swap_id name) const {
  std::vector<std::byte> result;
  const auto snapshot = runner_.snapshot(name);
  const auto read = snapshot->read();
  for (auto part = read(); !part.empty(); part = read()) result.insert(result.end(), part.begin(), part.end());
  return result;
}

void model_device::keep(scheduler::swap_id name, std::vector<std::byte> bytes, int encoder_input) {
  runner_.keep(name, runner_.make_snapshot(std::move(bytes), encoder_input));
}

}  // namespace cogen::engine_simulation
