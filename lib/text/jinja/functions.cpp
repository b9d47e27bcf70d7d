// The functions that a template may call without an object.
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"

#include <array>
#include <ctime>
#include <utility>

namespace cogen::text::jinja {
namespace {

constexpr std::int64_t longest_range = 100'000;

std::int64_t range_size(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step > 0 ? begin >= end : begin <= end) return 0;
  auto distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)
                           : static_cast<std::uint64_t>(begin) - static_cast<std::uint64_t>(end);
  auto stride = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  auto size = (distance - 1) / stride + 1;
  return size > static_cast<std::uint64_t>(longest_range) ? longest_range + 1 : static_cast<std::int64_t>(size);
}

value range(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "range", {"start", "stop", "step"});
  bool has_begin = bound.find(1) != nullptr;
  bound.at(0);
  auto begin = has_begin ? bound.integer(0, 0) : 0;
  auto end = bound.integer(has_begin ? 1 : 0, 0);
  auto step = bound.integer(2, 1);
  if (step == 0) run.fail("'range' cannot step by 0");
  auto size = range_size(begin, end, step);
  if (size > longest_range) run.fail("'range' exceeds the limit of " + std::to_string(longest_range) + " numbers");
  std::vector<value> numbers;
  for (std::int64_t i = 0; i < size; ++i) numbers.emplace_back(begin + i * step);
  return run.make_list(std::move(numbers));
}

const dictionary* source_of(renderer& run, const arguments& given, const char* callee) {
  if (given.positional.empty()) return nullptr;
  auto* members = given.positional[0].members();
  if (!members || given.positional.size() > 1) run.fail(std::string("'") + callee + "' takes at most one dictionary");
  return members;
}

value make_dictionary(renderer& run, const arguments& given) {
  auto* source = source_of(run, given, "dict");
  auto result = source ? *source : dictionary();
  for (const auto& [name, what] : given.named) result.insert(trusted_text(std::string(name)), what);
  run.charge(result.size() * sizeof(dictionary::item));
  return run.checked(std::move(result));
}

value make_namespace(renderer& run, const arguments& given) {
  auto* space = run.make_namespace();
  if (auto* source = source_of(run, given, "namespace")) {
    for (const auto& [key, what] : source->items()) space->members[as_text(run, key).bytes()] = what;
  }
  for (const auto& [name, what] : given.named) space->members[std::string(name)] = what;
  return space;
}

value raise_exception(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "raise_exception", {"message"});
  run.fail("raised: " + as_text(run, bound.at(0)).bytes());
}

value strftime_now(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "strftime_now", {"format"});
  std::string format(bound.text(0));
  if (format.empty()) return trusted_text("");
  constexpr std::size_t longest = 1024;
  auto seconds = std::chrono::system_clock::to_time_t(run.now());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, longest> buffer;
  auto size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &parts);
  if (size == 0) run.fail("'strftime_now' needs a shorter format");
  return run.make_text(std::string(buffer.data(), size), true);
}

constexpr std::array<std::pair<std::string_view, function>, 5> functions{{
    {"dict", make_dictionary},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
}};

}  // namespace

function find_function(std::string_view name) {
  for (const auto& [known, call] : functions) {
    if (known == name) return call;
  }
  return nullptr;
}

}  // namespace cogen::text::jinja
