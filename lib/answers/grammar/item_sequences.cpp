#include "answers/grammar/item_sequences.hpp"

#include "answers/grammar/grammar_error.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

namespace cogen::grammar {
namespace {

constexpr std::uint64_t max_places = 1000;

std::string after(std::uint64_t done, const std::string& item) {
  return done == 0 ? item : sequence({R"("," ws)", item});
}

/// Writes a rule for each place in a sequence, once.
template <typename Place>
class place_rules {
 public:
  place_rules(rule_list& rules, const char* beginning) : rules_(rules), beginning_(beginning) {}

  /// `ways(place)` are the expressions that lead on from a place; without one there is no way to an end.
  template <typename Ways>
  std::optional<std::string> rule_of(const Place& place, const Ways& ways) {
    const auto [known, is_new] = names_.try_emplace(place);
    if (!is_new) return known->second;
    if (names_.size() > max_places)
      throw grammar_error("an array with such bounds takes more than " + std::to_string(max_places) + " rules");
    const auto name = rules_.new_name(beginning_);
    names_[place] = name;
    const auto parts = ways(place);
    if (parts.empty()) return names_[place] = std::nullopt;
    rules_.add(name, alternatives(parts));
    return name;
  }

 private:
  rule_list& rules_;
  const char* beginning_;
  std::map<Place, std::optional<std::string>> names_;
};

class wanted_writer {
 public:
  wanted_writer(const item_sequence& items, rule_list& rules) : items_(items), places_(rules, "contained") {
    const auto& [min, max] = items_.count;
    counted_ = max == repetition::unlimited ? std::max<std::uint64_t>(min, items_.own_schemas) : max;
    counted_times_ = items_.times.max == repetition::unlimited ? items_.times.min : items_.times.max;
    if (counted_ > max_places || counted_times_ > max_places)
      throw grammar_error("\"contains\" is supported for bounds up to " + std::to_string(max_places));
  }

  std::optional<std::string> run() { return rule_of({0, 0}); }

 private:
  using place = std::pair<std::uint64_t, std::uint64_t>;  // items, and wanted ones, as far as they are counted

  std::optional<std::string> rule_of(const place& position) {
    return places_.rule_of(position, [this](const place& here) { return ways(here); });
  }

  std::vector<std::string> ways(const place& here) {
    const auto [done, times] = here;
    std::vector<std::string> parts;
    if (done >= items_.count.min && times >= items_.times.min) parts.push_back(literal(""));
    if (done == items_.count.max) return parts;
    const auto wanted = times < counted_times_ ? items_.wanted(done) : std::nullopt;
    if (!wanted && times < items_.times.min && done >= items_.own_schemas) return parts;  // it will never be enough
    go_on(here, items_.item(done), times, parts);
    if (times < counted_times_) go_on(here, wanted, times + 1, parts);
    return parts;
  }

  void go_on(const place& here, const std::optional<std::string>& item, std::uint64_t times,
             std::vector<std::string>& parts) {
    const auto done = std::min(here.first + 1, std::max<std::uint64_t>(counted_, 1));
    const auto left = items_.count.max == repetition::unlimited ? repetition::unlimited : items_.count.max - done;
    if (!item || (times < items_.times.min && items_.times.min - times > left)) return;
    if (const auto next = rule_of({done, times})) parts.push_back(sequence({after(here.first, *item), *next}));
  }

  const item_sequence& items_;
  place_rules<place> places_;
  std::uint64_t counted_ = 0;
  std::uint64_t counted_times_ = 0;
};

class kinds_writer {
 public:
  kinds_writer(const item_kinds& items, rule_list& rules) : items_(items), places_(rules, "kinds") {
    const auto& [min, max] = items_.count;
    counted_ = max == repetition::unlimited ? std::max<std::uint64_t>(min, items_.own_schemas) : max;
    counted_ = std::max<std::uint64_t>(counted_, 1);
    if (counted_ > max_places)
      throw grammar_error("\"contains\" is supported for bounds up to " + std::to_string(max_places));
  }

  std::optional<std::string> run() { return rule_of({0, 0}); }

 private:
  using place = std::pair<std::uint64_t, std::uint32_t>;  // items, as far as they are counted, and kinds among them

  std::optional<std::string> rule_of(const place& position) {
    return places_.rule_of(position, [this](const place& here) { return ways(here); });
  }

  std::vector<std::string> ways(const place& here) {
    const auto [done, found] = here;
    const auto missing = ((std::uint32_t{1} << items_.kinds) - 1) & ~found;
    std::vector<std::string> parts;
    if (done >= items_.count.min && missing == 0) parts.push_back(literal(""));
    if (done == items_.count.max || (done >= items_.own_schemas && !may_come(missing))) return parts;
    for (std::uint32_t some = 0; some <= missing; ++some) {
      if ((some & ~missing) != 0) continue;
      const auto item = items_.item(done, some);
      const auto next = item ? rule_of({std::min(done + 1, counted_), found | some}) : std::nullopt;
      if (next) parts.push_back(sequence({after(done, *item), *next}));
    }
    return parts;
  }

  /// Whether each of some kinds may still come behind the items with schemas of their own.
  bool may_come(std::uint32_t kinds) const {
    for (std::size_t i = 0; i < items_.kinds; ++i)
      if ((kinds >> i & 1) != 0 && !items_.item(items_.own_schemas, std::uint32_t{1} << i)) return false;
    return true;
  }

  const item_kinds& items_;
  place_rules<place> places_;
  std::uint64_t counted_ = 0;
};

}  // namespace

std::optional<std::string> add_item_kinds(const item_kinds& items, rule_list& rules) {
  return kinds_writer(items, rules).run();
}

std::optional<std::string> add_item_sequence(const item_sequence& items, rule_list& rules) {
  if (items.times.min > items.times.max || items.times.min > items.count.max) return std::nullopt;
  return wanted_writer(items, rules).run();
}

std::optional<std::string> add_distinct_items(const std::vector<std::string>& items, repetition count,
                                              rule_list& rules) {
  place_rules<std::uint32_t> places(rules, "distinct");
  const std::function<std::optional<std::string>(std::uint32_t)> rule_of = [&](std::uint32_t written) {
    return places.rule_of(written, [&](std::uint32_t here) {
      const auto done = static_cast<std::uint64_t>(std::popcount(here));
      std::vector<std::string> parts;
      if (done >= count.min) parts.push_back(literal(""));
      for (std::size_t i = 0; i < items.size() && done < count.max; ++i)
        if ((here >> i & 1) == 0)
          if (const auto next = rule_of(here | std::uint32_t{1} << i))
            parts.push_back(sequence({after(done, items[i]), *next}));
      return parts;
    });
  };
  return rule_of(0);
}

}  // namespace cogen::grammar
