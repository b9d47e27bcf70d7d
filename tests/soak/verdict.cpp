#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace cogen::soak {
namespace {

/// Of a quarter of the time, 0 to 3; a single sample says little, as allocators give memory back now and then.
std::int64_t median_resident(std::span<const moment> seen, std::size_t quarter) {
  const auto begin = quarter * seen.size() / 4;
  const auto count = std::max<std::size_t>(1, (quarter + 1) * seen.size() / 4 - begin);
  std::vector<std::int64_t> bytes;
  for (const auto& each : seen.subspan(begin, count)) bytes.push_back(each.resident);
  std::nth_element(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count / 2), bytes.end());
  return bytes[count / 2];
}

}  // namespace

void verdict::expect(bool met, const std::string& otherwise) {
  if (met) return;
  fmt::print("WRONG: {}\n", otherwise);
  well_ = false;
}

void judge_end(verdict& all_in_all, const subject& setup, const tally& counts, const options& wanted) {
  const auto stats = setup.running->stats();
  all_in_all.expect(
      stats.sequences == 0 && stats.free_slots == wanted.slots,
      fmt::format("{} sequences are left, and {} of {} slots free", stats.sequences, stats.free_slots, wanted.slots));
  all_in_all.expect(
      stats.cache_bytes == 0 && stats.swap_bytes == 0,
      fmt::format("{} bytes of caches and {} bytes of swapped out ones are left", stats.cache_bytes, stats.swap_bytes));
  all_in_all.expect(!setup.running->error(), "the engine is dead: " + setup.running->error().message());
  all_in_all.expect(counts.wrong == 0, fmt::format("{} times something else than expected", counts.wrong.load()));
  all_in_all.expect(counts.asked == counts.answered,
                    fmt::format("{} operations asked for, {} answered", counts.asked.load(), counts.answered.load()));
}

void judge_course(verdict& all_in_all, const std::vector<moment>& seen, const options& wanted) {
  const auto early = median_resident(seen, 1) / 1024, late = median_resident(seen, 3) / 1024;
  fmt::print("resident memory: {} KiB in the second quarter of the time, {} KiB in the last: {:+} KiB\n", early, late,
             late - early);
  if (wanted.seconds >= long_enough)
    all_in_all.expect(late - early <= std::int64_t{wanted.growth_mib} * 1024,
                      fmt::format("memory grew by {} KiB; {} MiB are allowed", late - early, wanted.growth_mib));
  const auto [fewest, most] = std::minmax_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.descriptors < b.descriptors; });
  all_in_all.expect(fewest->descriptors == most->descriptors,
                    fmt::format("between {} and {} descriptors were open", fewest->descriptors, most->descriptors));
}

void judge_deeds(verdict& all_in_all, const subject& setup, const tally& counts, const options& wanted) {
  const auto stats = setup.running->stats();
  const double ratio = setup.wanting->mean() / wanted.slots;
  fmt::print("{:.2f} requests for each slot on average, from {} clients for {} slots\n", ratio,
             wanted.slots * wanted.overload, wanted.slots);
  if (wanted.seconds >= long_enough)
    all_in_all.expect(ratio >= min_overload,
                      fmt::format("overload is from {} requests for each slot on", min_overload));
  const auto happened = [&](std::string_view name, std::uint64_t times) {
    fmt::print("{:>28}  {}\n", name, times);
    if (wanted.seconds >= long_enough) all_in_all.expect(times > 0, fmt::format("{}: never happened", name));
  };
  for (std::size_t i = 0; i < deed_names.size(); ++i) happened(deed_names[i], counts.done[i]);
  happened("cancelled waits", counts.cancelled);
  happened("engine held up by a reader", counts.held_up);
  happened("forks that reached their end", counts.forked);
  happened("refusals", counts.refused);
  happened("preempted", stats.preempted);
  if (setup.swap_outs) happened("swapped out", stats.swapped_out);
  happened("resumed", setup.wanting->resumed());
}

}  // namespace cogen::soak
