#include "answers/grammar/bounded_work.hpp"

#include "answers/grammar/steps.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace cogen::grammar {
namespace {

using std::chrono::milliseconds;

/// Between two looks at the clock: some milliseconds at most.
constexpr std::int64_t steps_at_once = 1 << 16;
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// Between two looks at the memory.
constexpr milliseconds measuring_pause(5);

thread_local bounded_work* innermost = nullptr;
thread_local brief_work* innermost_brief = nullptr;

}  // namespace

milliseconds thread_time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

std::size_t bytes_of_process() noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"), &std::fclose);
  unsigned long total = 0, resident = 0, shared = 0;
  if (!file || std::fscanf(file.get(), "%lu %lu %lu", &total, &resident, &shared) != 3) return 0;
  return static_cast<std::size_t>(resident - std::min(shared, resident)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

brief_work::brief_work(std::int64_t steps) noexcept
    : steps_(steps), left_(steps), outer_(std::exchange(innermost_brief, this)) {}

brief_work::~brief_work() { innermost_brief = outer_; }

std::optional<std::int64_t> brief_work::left() noexcept {
  return innermost_brief ? std::optional(innermost_brief->left_) : std::nullopt;
}

void brief_work::require(std::int64_t steps) {
  if (innermost_brief && steps > innermost_brief->left_) throw guide_postponed();
}

bounded_work::bounded_work(const work_bounds& bounds) noexcept
    : bounds_(bounds),
      brief_(innermost_brief),
      most_(brief_ ? std::min(bounds.steps, brief_->left_) : bounds.steps),
      start_(bounds.time || bounds.bytes ? thread_time() : milliseconds(0)),
      bytes_before_(bounds.bytes ? bytes_of_process() : 0),
      outer_(std::exchange(innermost, this)),
      steps_left_outside_(steps_left) {
  grant();
}

bounded_work::~bounded_work() {
  if (brief_) brief_->left_ -= std::min(brief_->left_, is_exceeded_ ? granted_ : steps());
  innermost = outer_;
  steps_left = steps_left_outside_;
}

std::int64_t bounded_work::steps() const noexcept { return granted_ - steps_left; }

void bounded_work::grant() noexcept {
  steps_left = std::min(steps_at_once, most_ - granted_);
  granted_ += steps_left;
}

/// What it throws passes destructors that count steps, too: none of them may throw.
void bounded_work::check() {
  granted_ -= std::exchange(steps_left, unlimited);
  is_exceeded_ = true;
  if (bounds_.watch) bounds_.watch->check();
  if (granted_ > most_ && most_ < bounds_.steps) throw guide_postponed();
  if (granted_ > bounds_.steps)
    throw work_error(std::string(bounds_.work) + " takes more than " + std::to_string(bounds_.steps) + " steps");
  if (bounds_.time || bounds_.bytes) check_time();
  is_exceeded_ = false;
  grant();
}

void bounded_work::check_time() {
  const auto took = thread_time() - start_;
  if (bounds_.time && took > *bounds_.time)
    throw work_error(std::string(bounds_.work) + " takes more than " + std::to_string(bounds_.time->count()) + " ms");
  if (!bounds_.bytes || took < measured_ + measuring_pause) return;
  measured_ = took;
  const auto now = bytes_of_process();
  if (now > bytes_before_ && now - bytes_before_ > *bounds_.bytes)
    throw work_error(std::string(bounds_.work) + " takes more than " + std::to_string(*bounds_.bytes) +
                     " bytes of memory");
}

void check_steps() {
  if (innermost)
    innermost->check();
  else
    steps_left = unlimited;
}

}  // namespace cogen::grammar
