#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/walks.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace cogen::text::jinja {
namespace {

constexpr std::int64_t max_range_items = 100'000;

std::int64_t range_size(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step > 0 ? begin >= end : begin <= end) return 0;
  auto distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)
                           : static_cast<std::uint64_t>(begin) - static_cast<std::uint64_t>(end);
  auto stride = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  auto size = (distance - 1) / stride + 1;
  return size > static_cast<std::uint64_t>(max_range_items) ? max_range_items + 1 : static_cast<std::int64_t>(size);
}

value range(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "range", {"start", "stop", "step"});
  refuse_named(run, given, "range");
  bool has_begin = bound.find(1) != nullptr;
  bound.at(0);
  auto begin = has_begin ? bound.integer(0, 0) : 0;
  auto end = bound.integer(has_begin ? 1 : 0, 0);
  auto step = bound.integer(2, 1);
  if (step == 0) run.fail("'range' cannot step by 0");
  auto size = range_size(begin, end, step);
  if (size > max_range_items) run.fail("'range' exceeds the limit of " + std::to_string(max_range_items) + " numbers");
  std::vector<value> numbers;
  for (std::int64_t i = 0; i < size; ++i) numbers.emplace_back(begin + i * step);
  auto items = run.make_list(std::move(numbers)).shared_items();
  return view{.items = std::move(items), .begin = begin, .end = end, .step = step};
}

/// A dictionary, or pairs of keys and values, and named arguments.
dictionary members_of(renderer& run, const arguments& given, const char* callee) {
  if (given.positional.size() > 1) run.fail(std::string("'") + callee + "' takes at most one dictionary");
  dictionary result;
  if (!given.positional.empty()) {
    const auto& source = given.positional[0];
    if (source.members()) {
      for (const auto& [key, member] : source.members()->items()) insert(run, result, key, member);
    } else {
      for (auto pairs = visited_items(run, source); const auto& pair : pairs->items) {
        auto parts = items_of(run, pair);
        if (parts->items.size() != 2) run.fail(std::string("'") + callee + "' takes pairs of keys and values");
        insert(run, result, parts->items[0], parts->items[1]);
      }
    }
  }
  for (const auto& [name, argument] : given.named) insert(run, result, trusted_text(name), argument);
  return result;
}

value make_dictionary(renderer& run, const arguments& given) { return run.checked(members_of(run, given, "dict")); }

value make_namespace(renderer& run, const arguments& given) {
  auto* space = run.make_namespace();
  for (auto members = members_of(run, given, "namespace"); const auto& [key, member] : members.items()) {
    set_member(run, *space, as_text(run, key).bytes(), member);
  }
  return space;
}

value make_cycler(renderer& run, const arguments& given) {
  refuse_named(run, given, "cycler");
  if (given.positional.empty()) run.fail("'cycler' needs something to cycle through");
  return run.make_cycler(given.positional);
}

value make_joiner(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "joiner", {"sep"});
  return run.make_joiner(bound.find(0) ? as_text(run, bound.at(0)) : traced_text(", ", true));
}

value random_words(renderer& run, const arguments&) {
  run.fail("'lipsum' writes random text, which no prompt can rely on");
}

value raise_exception(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "raise_exception", {"message"});
  run.fail("raised: " + as_text(run, bound.at(0)).bytes());
}

value strftime_now(renderer& run, const arguments& given) {
  bound_arguments bound(run, given, "strftime_now", {"format"});
  run.look_at(bound.at(0));
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

constexpr std::array<named_function, 8> functions{{
    {"cycler", make_cycler},
    {"dict", make_dictionary},
    {"joiner", make_joiner},
    {"lipsum", random_words},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
}};

}  // namespace

const named_function* find_function(std::string_view name) {
  auto found = std::ranges::find(functions, name, &named_function::name);
  return found == functions.end() ? nullptr : &*found;
}

void set_member(renderer& run, name_space& space, const std::string& name, const value& member) {
  if (name.starts_with('_')) run.fail("a namespace has no members that begin with '_', such as '" + name + "'");
  constexpr std::size_t place_bytes = 64;
  run.charge(name.size() + sizeof(value) + place_bytes);
  space.members[name] = member;
}

void look_at_texts(renderer& run, const value& object, const arguments& given) {
  run.look_at(object);
  for (const auto& argument : given.positional) run.look_at(argument);
  for (const auto& [name, argument] : given.named) run.look_at(argument);
}

void refuse_named(renderer& run, const arguments& given, std::string_view callee) {
  if (!given.named.empty())
    run.fail("'" + std::string(callee) + "' has no argument '" + given.named[0].first + "' that is given by name");
}

bound_arguments::bound_arguments(renderer& run, const arguments& given, std::string_view callee,
                                 std::initializer_list<std::string_view> parameters)
    : run_(&run), callee_(callee), parameters_(parameters), values_(parameters.size(), nullptr) {
  if (given.positional.size() > parameters_.size()) {
    run.fail("'" + std::string(callee) + "' takes " + std::to_string(parameters_.size()) + " arguments, not " +
             std::to_string(given.positional.size()));
  }
  for (std::size_t i = 0; i < given.positional.size(); ++i) values_[i] = &given.positional[i];
  for (const auto& [name, argument] : given.named) {
    run.visit(parameters_.size());
    auto found = std::find(parameters_.begin(), parameters_.end(), name);
    if (found == parameters_.end()) {
      run.fail("'" + std::string(callee) + "' has no argument '" + name + "'");
    }
    auto& bound = values_[static_cast<std::size_t>(found - parameters_.begin())];
    if (bound) run.fail("'" + std::string(callee) + "' gets the argument '" + name + "' twice");
    bound = &argument;
  }
}

const value& bound_arguments::at(std::size_t parameter) const {
  if (values_[parameter]) return *values_[parameter];
  run_->fail("'" + std::string(callee_) + "' needs the argument '" + std::string(parameters_[parameter]) + "'");
}

std::string_view bound_arguments::text(std::size_t parameter) const {
  if (auto* text = at(parameter).text()) return text->bytes();
  refuse(parameter, "a text");
}

std::int64_t bound_arguments::integer(std::size_t parameter, std::int64_t otherwise) const {
  if (!values_[parameter]) return otherwise;
  if (auto number = values_[parameter]->integer()) return *number;
  refuse(parameter, "an integer");
}

std::optional<std::string_view> bound_arguments::optional_text(std::size_t parameter) const {
  bool is_given = find(parameter) && !find(parameter)->is_none();
  return is_given ? std::optional(text(parameter)) : std::nullopt;
}

bool bound_arguments::flag(std::size_t parameter, bool otherwise) const {
  return values_[parameter] ? is_true(*values_[parameter]) : otherwise;
}

void bound_arguments::refuse(std::size_t parameter, const char* expected) const {
  run_->fail("argument '" + std::string(parameters_[parameter]) + "' of '" + std::string(callee_) + "' is " +
             kind_of(*values_[parameter]) + ", but must be " + expected);
}

}  // namespace cogen::text::jinja
