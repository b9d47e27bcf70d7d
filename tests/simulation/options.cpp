#include "simulation/options.hpp"

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace cogen::scheduler::simulate {
namespace {

std::uint64_t number(std::string_view name, const char* value) {
  if (!value) throw std::invalid_argument(std::string(name) + " needs a number");
  const std::string_view text(value);
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), result);
  if (error != std::errc() || end != text.end())
    throw std::invalid_argument(std::string(name) + " is \"" + value + "\", which is no number");
  return result;
}

}  // namespace

const char* const usage =
    R"(simulate: the real scheduler on a toy cache and a toy model, through random histories

  --seeds N   play N histories (10000)
  --first S   beginning with seed S (1)
  --seed S    play the one history of seed S and print all that happens in it
  --jobs N    on N threads (as many as there are cores)
  --help      print this

Each history is drawn from its seed alone. After every step the scheduler is held against its contract; at the first
history in which it breaks it, the seed, the sentence and the history are printed, and the exit status is 1. With
20,000 histories or more, a state of a sequence in which some verb was never tried is a failure too.
)";

options parse(int count, const char* const* arguments) {
  options result;
  result.jobs = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < count; ++i) {
    const std::string_view name(arguments[i]);
    if (name == "--help") {
      result.help = true;
      continue;
    }
    const auto value = [&] { return number(name, ++i < count ? arguments[i] : nullptr); };
    if (name == "--seeds")
      result.seeds = value();
    else if (name == "--first")
      result.first = value();
    else if (name == "--seed")
      result.replay = value();
    else if (name == "--jobs")
      result.jobs = static_cast<unsigned>(value());
    else
      throw std::invalid_argument("\"" + std::string(name) + "\" is no option; --help names them");
  }
  if (result.jobs < 1 || result.jobs > 1024) throw std::invalid_argument("--jobs must be between 1 and 1024");
  return result;
}

}  // namespace cogen::scheduler::simulate
