#include "simulation/engine/world.hpp"

#include "simulation/engine/client.hpp"

#include <cogen/extend/runner.hpp>

#include <algorithm>
#include <stdexcept>

namespace cogen::engine_simulation {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw std::logic_error(message);
}

constexpr std::string_view fire = "the bus is on fire";

/// In memory, where the system has such a folder: files are made in every other history.
std::filesystem::path int8_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return exists(memory) ? memory : std::filesystem::temp_directory_path();
}

std::exception_ptr breakdown() { return std::make_exception_ptr(std::runtime_error(std::string(fire))); }

}  // namespace

world::world(const settings& setup, coverage& seen, simulation::log received)
    : settings_(setup),
      seen_(seen),
      log_(std::move(received)),
      device_(std::make_shared<device>(settings_, seen_, log_)),
      engine_(make_engine()) {}

/// Clients on the engine's executor go on for as long as it is there.
world::~world() { engine_.reset(); }

engine world::make_engine() {
  engine_parts parts;
  parts.runner = device::runner_on(device_);
  parts.limits = settings_.within;
  if (settings_.urgent) parts.scheduling_policy = scheduler::by_priority(settings_.boost);
  if (settings_.marks) parts.allocation_policy = scheduler::watermarks(*settings_.marks);
  parts.end_tokens = settings_.end_tokens;
  parts.encoder_inputs = settings_.encoder_inputs;
  parts.clock = clock_;
  engine_options options;
  options.external_stepping = true;
  options.limits.max_sequences = settings_.max_sequences;
  options.log = [this](std::string_view line) {
    say("  log: {}", line);
    if (line.ends_with(device::lost) || device_->refused_memory()) return;
    if (!doomed_ || !line.ends_with(fire))
      blame(std::make_exception_ptr(std::logic_error("the engine says: " + std::string(line))));
  };
  return engine(std::move(parts), std::move(options));
}

token world::tag() {
  const token sampled = spoken().words() + action_ % language::tags;
  tagged_[sampled].insert(action_);
  return sampled;
}

bool world::renames(std::uint64_t tenant, const std::optional<std::string>& cache_salt) const {
  return settings_.renamed_tenant == tenant && cache_salt != common_salt;
}

void world::rename(std::vector<token>& tokens) const {
  for (auto& each : tokens) each = spoken().other_name(each);
}

std::filesystem::path world::new_file() {
  if (!folder_) folder_.emplace(int8_folder());
  return folder_->path() / std::to_string(++files_);
}

// What is run

void world::round(bool hold) {
  ++rounds_;
  device_->hold(hold);
  if (engine_) engine_->poll_one();
}

void world::run_handlers(bool drained) {
  context_.restart();
  if (drained)
    context_.poll();
  else
    context_.poll_one();
}

void world::join(std::shared_ptr<client> added, random& chance) {
  say("{} comes", added->name());
  added->be_ranked_by(chance.next());
  clients_.push_back(added);
  added->begin();
}

bool world::is_death(error_code code) const {
  if (engine_) return code == engine_->error().code();
  return code == error::engine_stopped || code == error::device_failed;
}

void world::stop_engine() {
  say("the engine is stopped");
  doomed_ = true;
  engine_->stop();
}

void world::befall(misfortune event) {
  if (!engine_ || ((doomed_ || engine_->error()) && event != misfortune::engine_destroyed)) return;
  if (event == misfortune::step_fails && device_->held() == 0) event = misfortune::launch_fails;
  for (const auto& each : clients_) each->meet(event);
  switch (event) {
    case misfortune::launch_fails:
    case misfortune::step_fails:
      return fail_step(event == misfortune::launch_fails);
    case misfortune::engine_stopped:
      return stop_engine();
    default:
      say("the engine is destroyed");
      return engine_.reset();
  }
}

/// The engine finds out in its own time: at its next launch, or when it looks at the step.
void world::fail_step(bool at_launch) {
  say("the device fails");
  doomed_ = true;
  if (at_launch)
    device_->break_at_launch(breakdown());
  else
    device_->release(breakdown());
}

// What ought to be

void world::blame(std::exception_ptr error) {
  if (!blamed_) blamed_ = std::move(error);
}

void world::check() {
  if (blamed_) std::rethrow_exception(blamed_);
  std::erase_if(clients_, [&](const auto& entry) { return has_gone(*entry); });
  for (const auto& each : clients_) each->check();
  check_stats();
}

bool world::has_gone(const client& seq) {
  if (!seq.gone()) return false;
  say("{} goes{}", seq.name(), seq.finished() ? "" : " with its executor");
  if (seq.finished()) return true;
  require(!alive(), seq.name() + " was destroyed");
  seen_.visit(feature::went_with_its_executor);
  return true;
}

void world::check_stats() {
  if (!alive()) return;
  const auto stats = engine_->stats();
  require(stats.free_slots >= 0 && stats.free_slots <= settings_.within.slots, "slots are lost, or given twice");
  require(stats.cache_bytes >= 0 && stats.cache_bytes + stats.prefix_cached_bytes <= settings_.within.memory_bytes,
          "more memory is set aside than there is");
  require(stats.waiting >= 0 && stats.waiting <= stats.sequences, "more wait than there are");
  const bool none_idle =
      settings_.within.idle_timeout >= long_idle_timeout && now().time_since_epoch() < long_idle_timeout;
  for (; preempted_ < stats.preempted; ++preempted_) {
    seen_.visit(feature::preempted);
    if (none_idle && preempted_ >= suspend_requested_) seen_.visit(feature::displaced);
  }
}

void world::drain(random& chance) {
  say("everything is brought to an end");
  closing_ = true;
  constexpr int rounds = 4000;
  for (int i = 0; !clients_.empty(); ++i) {
    if (i == rounds) throw std::logic_error("it does not come to an end: " + unfinished());
    for (const auto& each : std::vector(clients_))
      if (each->waits_for_turn()) each->take_turn(random(chance.next()));
    round(chance.chance(20));
    run_handlers(chance.chance(80));
    release();
    if (chance.chance(50)) end_transfer(chance);
    advance_clock(std::chrono::microseconds(chance.between(0, 2000)));
    check();
  }
  for (int idle = 0; idle < 3; ++idle) {
    round(false);
    if (release() || end_transfer(chance)) idle = -1;
    run_handlers(true);
    check();
  }
  check_empty();
}

std::string world::unfinished() const {
  std::string names;
  for (const auto& each : clients_) names += (names.empty() ? "" : ", ") + each->name() + " (" + each->status() + ")";
  return names;
}

void world::check_empty() {
  require(device_->held() == 0, "a step is in flight for no sequence");
  if (!alive()) return;
  const auto stats = engine_->stats();
  require(stats.sequences == 0 && stats.waiting == 0, fmt::format("{} sequences are left", stats.sequences));
  require(stats.free_slots == settings_.within.slots, "not all slots are free in the end");
  require(stats.cache_bytes == 0, "memory is reserved for no sequence");
  require(settings_.within.prefix_caching || stats.prefix_cached_slots == 0, "slots are kept though nothing is reused");
  const int filled = device_->filled_slots();  // those too that kept ones read
  require(filled >= stats.prefix_cached_slots && (filled == 0) == (stats.prefix_cached_slots == 0),
          "slots are filled for no sequence, or kept and empty");
  require(device_->cache().bytes() <= stats.prefix_cached_bytes, "the cache holds more than is kept");
  require(stats.swap_bytes == 0 && device_->cache().swapped_bytes() == 0, "something is swapped out for no sequence");
}

}  // namespace cogen::engine_simulation
