#include "answers/grammar/counted_repetition.hpp"

#include <map>
#include <vector>

namespace cogen::grammar {
namespace {

using part_writer = std::function<std::string(repetition)>;

bool is_written_at_once(repetition times, std::uint64_t at_once) {
  return times.max == repetition::unlimited ? times.min <= at_once : times.max <= at_once;
}

class counter {
 public:
  counter(const part_writer& write, std::uint64_t at_once, rule_list& rules)
      : write_(write), at_once_(at_once), rules_(rules) {}

  std::string run(repetition times) {
    if (is_written_at_once(times, at_once_)) return write_(times);
    std::vector<std::string> parts;
    if (times.min > 0) parts.push_back(exactly(times.min));
    if (times.max == repetition::unlimited) {
      parts.push_back(write_({}));
    } else if (times.max > times.min) {
      parts.push_back(at_most(times.max - times.min));
    }
    return sequence(parts);
  }

 private:
  /// The part is a unit of level 0; one of the next level is `at_once` of them.
  std::string units(std::size_t level, repetition times) {
    if (times.max == 0) return literal("");
    return level == 0 ? write_(times) : repeated(unit(level), times);
  }

  const std::string& unit(std::size_t level) {
    auto& name = units_[level];
    if (name.empty()) {
      const auto expression = units(level - 1, {at_once_, at_once_});
      rules_.add(name = rules_.new_name("unit"), expression);
    }
    return name;
  }

  std::string exactly(std::uint64_t count) {
    std::vector<std::string> parts;
    for (std::size_t level = 0; count > 0; ++level, count /= at_once_)
      if (const auto digit = count % at_once_; digit > 0) parts.push_back(units(level, {digit, digit}));
    return sequence(parts);
  }

  /// As many units of the highest level as there may be with anything below one behind them, or one more of them with
  /// what is left.
  std::string at_most(std::uint64_t count) {
    if (count <= at_once_) return units(0, {0, count});
    std::size_t level = 0;
    std::uint64_t size = 1;
    for (; count / size >= at_once_; ++level) size *= at_once_;
    const auto whole = count / size;
    return alternatives({sequence({units(level, {0, whole - 1}), rule_of_at_most(size - 1)}),
                         sequence({units(level, {whole, whole}), rule_of_at_most(count % size)})});
  }

  std::string rule_of_at_most(std::uint64_t count) {
    if (count == 0) return literal("");
    const auto known = at_most_.find(count);
    if (known != at_most_.end()) return known->second;
    const auto expression = at_most(count);
    const auto name = rules_.new_name("at-most");
    rules_.add(name, expression);
    return at_most_[count] = name;
  }

  const part_writer& write_;
  std::uint64_t at_once_;
  rule_list& rules_;
  std::map<std::size_t, std::string> units_;
  std::map<std::uint64_t, std::string> at_most_;
};

}  // namespace

std::string counted(const part_writer& write, repetition times, std::uint64_t at_once, rule_list& rules) {
  return counter(write, at_once, rules).run(times);
}

std::string counted(const std::string& part, repetition times, rule_list& rules) {
  if (is_written_at_once(times, max_repetitions_at_once)) return repeated(part, times);
  const auto name = rules.new_name("part");
  rules.add(name, part);
  return counted([&](repetition few) { return repeated(name, few); }, times, max_repetitions_at_once, rules);
}

}  // namespace cogen::grammar
