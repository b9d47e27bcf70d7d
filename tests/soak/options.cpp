#include "options.hpp"

#include <boost/program_options.hpp>

#include <iostream>
#include <stdexcept>

namespace cogen::soak {

namespace po = boost::program_options;

std::optional<options> parse(int argc, char** argv) {
  options wanted;
  po::options_description known(
      "Keeps an engine on its own thread under overload: clients that read, dawdle, cancel, stop, drop, fork, preempt "
      "and "
      "ask for nonsense. Fails where a token is lost or wrong, an operation is not answered, a slot does not come back "
      "or descriptors do not stay the same. From 60 seconds on also where memory grows, or one of all that clients do "
      "never happened. ctest gives it COGEN_SOAK_SECONDS for each subject (cmake --preset asan "
      "-DCOGEN_SOAK_SECONDS=1800).\n\nOptions");
  auto add = known.add_options();
  add("help", "show this and end");
  add("seconds", po::value(&wanted.seconds)->default_value(wanted.seconds), "how long");
  add("seed", po::value(&wanted.seed)->default_value(wanted.seed), "of what the clients do");
  add("subject", po::value(&wanted.subject)->default_value(wanted.subject), "toy, or golden: a tiny model");
  add("slots", po::value(&wanted.slots)->default_value(wanted.slots), "of the engine");
  add("overload", po::value(&wanted.overload)->default_value(wanted.overload),
      "clients for each slot, some of which pause");
  add("growth-mib", po::value(&wanted.growth_mib)->default_value(wanted.growth_mib),
      "that resident memory may grow by from the second quarter of the time to the last: what threads' heaps take a "
      "while to reach, and no more the longer it runs");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, known), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << known, std::nullopt;
  if (wanted.seconds < 1 || wanted.slots < 1 || wanted.overload < 1 || wanted.growth_mib < 0)
    throw std::invalid_argument("--seconds, --slots and --overload must be at least 1, --growth-mib at least 0");
  return wanted;
}

}  // namespace cogen::soak
