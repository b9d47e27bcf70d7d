#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

namespace cogen::detail {

/// Whose format is compiled when. Jobs wait for a place; a few of those that have places run, in turns of some time, so
/// that a short one is over soon whatever the others take. A tenant's jobs begin one after the other, but for one that
/// takes long, beside which the next one begins. Has neither threads nor clocks. Not thread-safe.
class compile_turns {
 public:
  using job = std::uint64_t;
  using time = std::chrono::milliseconds;

  static constexpr int max_running = 2;
  static constexpr std::size_t max_places = 8;                      ///< each costs a thread
  static constexpr time turn{50};                                   ///< of a processor
  static constexpr time long_time{1000};                            ///< of a processor
  static constexpr std::int64_t max_bytes = std::int64_t{1} << 30;  ///< of all that have places

  /// What a job does next.
  enum class order : std::uint8_t {
    work,
    rest,        ///< until runs()
    give_way,    ///< it ends, for tenants that wait and have no place
    free_memory  ///< it ends, since it takes the most memory of all, which together take too much; others rest
                 ///< meanwhile
  };

  /// Another `long_time` is for tests.
  explicit compile_turns(time long_one = long_time) : long_time_(long_one) {}

  /// It waits for a place. Throws std::bad_alloc, and has then changed nothing.
  job put(std::uint64_t tenant);

  std::size_t placeable() const noexcept;  ///< jobs to which place_next() would give places now

  /// One that has a place from now on, if there is one that may have it. It begins once runs() is true.
  std::optional<job> place_next() noexcept;

  bool runs(job name) const noexcept { return place_of(name).runs; }
  int running() const noexcept;
  std::size_t places() const noexcept { return places_.size(); }

  /// One that runs has used so much of a processor in all, and the process so many bytes more since one last said so.
  /// What is freed while others run may be theirs, and counts for none. The job gives way if that is long_time, and a
  /// tenant waits that has no place, nor is there one: the first to do so is the one with the most time of those whose
  /// tenants have the most places.
  order used(job name, time processor, std::int64_t more_bytes) noexcept;

  /// It gives its place up.
  void end(job name) noexcept;

 private:
  struct place {
    job name;
    std::uint64_t tenant;
    bool runs = false;
    order ends = order::work;  // how, if it has to
    bool frees = false;        // since it was told to free its memory
    time used{0};              // of a processor
    time turn_begin{0};
    std::int64_t bytes = 0;
  };

  const place& place_of(job name) const noexcept;
  place& place_of(job name) noexcept;
  int places_of(std::uint64_t tenant) const noexcept;
  int running_of(std::uint64_t tenant) const noexcept;
  bool may_begin(std::uint64_t tenant) const noexcept;
  bool lacks_place() const noexcept;
  bool lacks_memory() const noexcept;
  void end_for_others() noexcept;
  void give_turns() noexcept;

  const time long_time_;
  std::map<std::uint64_t, std::list<place>> waiting_;  // of tenants that have any
  std::list<place> places_;                            // those that have rested longest first
  job last_ = 0;
  std::uint64_t last_placed_ = 0, last_run_ = 0;  // tenants
};

}  // namespace cogen::detail
