#include "simulation/options.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace cogen::simulation {
namespace {

template <class Number>
Number number(std::string_view name, std::string_view text) {
  Number result = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), result);
  if (error != std::errc() || end != text.end())
    throw std::invalid_argument(std::string(name) + " is \"" + std::string(text) + "\", which is not a number");
  return result;
}

std::vector<int> numbers(std::string_view name, std::string_view text) {
  std::vector<int> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    result.push_back(number<int>(name, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string usage(const std::string& name, const std::string& about) {
  return name + ": " + about + R"(

  --seeds N        play N histories (10000)
  --first S        beginning with seed S (1)
  --seed S         play the one history of seed S and print all that happens in it
  --actions A,B,…  of it only these actions
  --jobs N         on N threads (as many as there are cores)
  --help           print this

Each history is sampled from its seed alone. After every step what happened is held against the contract; at the first
history that breaks it, the seed and the sentence are printed, then a shorter history of that seed that breaks it as
well, and the exit status is 1. With 10,000 histories or more, a state in which something was never tried is a failure
too.
)";
}

options parse(int count, const char* const* arguments) {
  options result;
  result.jobs = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < count; ++i) {
    const std::string_view name(arguments[i]);
    if (name == "--help") {
      result.help = true;
      continue;
    }
    const auto text = [&]() -> std::string_view {
      if (++i == count) throw std::invalid_argument(std::string(name) + " needs a number");
      return arguments[i];
    };
    const auto value = [&] { return number<std::uint64_t>(name, text()); };
    if (name == "--seeds")
      result.seeds = value();
    else if (name == "--first")
      result.first = value();
    else if (name == "--seed")
      result.replay = value();
    else if (name == "--actions")
      result.actions = numbers(name, text());
    else if (name == "--jobs")
      result.jobs = static_cast<unsigned>(value());
    else
      throw std::invalid_argument("\"" + std::string(name) + "\" is not an option; --help names them");
  }
  if (result.jobs < 1 || result.jobs > 1024) throw std::invalid_argument("--jobs must be between 1 and 1024");
  return result;
}

}  // namespace cogen::simulation
