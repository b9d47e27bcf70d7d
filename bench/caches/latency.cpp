// The time of a decode step at a length. The kinds take turns, there and back, so that what disturbs the machine
// disturbs all of them; a turn's steps follow those of the turn before, so a kind that packs its tokens now and then
// does so within the steps.
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"

#include <boost/json/array.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>

namespace curves {

namespace {

class stopwatch {
 public:
  stopwatch(const cogen::model& model, const settings& given, std::size_t most)
      : ids_(tokens_of(model, given.text, most)) {
    for (auto& each : readers_of(model, given.kinds, {static_cast<int>(most), given.chunk}, given.threads))
      readers_[std::string(each->kind_name())] = std::move(each);
  }

  /// Times `steps` steps after at least `length` tokens.
  boost::json::object measure(const std::string& kind, int length, int steps) {
    auto& here = *readers_.at(kind);
    if (here.length() < length) here.skim(between(here.length(), length));
    boost::json::array times;
    const int start = here.length();
    for (int i = 0; i < steps; ++i) times.push_back(milliseconds_of_step(here));
    return {
        {"what", "latency"}, {"kind", kind}, {"length", length}, {"from", start}, {"milliseconds", std::move(times)}};
  }

 private:
  tokens between(int begin, int end) const {
    return tokens(ids_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  double milliseconds_of_step(reader& here) {
    const auto next = between(here.length(), here.length() + 1);
    const auto begin = std::chrono::steady_clock::now();
    here.read(next);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  std::vector<cogen::token> ids_;
  std::map<std::string, std::unique_ptr<reader>> readers_;
};

std::vector<std::string> there_and_back(const std::vector<std::string>& kinds) {
  auto order = kinds;
  order.insert(order.end(), kinds.rbegin(), kinds.rend());
  return order;
}

void serve(stopwatch& watch) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind;
    int length = 0, steps = 0;
    words >> kind >> length >> steps;
    print(watch.measure(kind, length, steps));
  }
}

void run(stopwatch& watch, const settings& given) {
  for (const int length : given.lengths) {
    for (const auto& kind : given.kinds) watch.measure(kind, length, given.steps);
    for (int block = 0; block < given.blocks; ++block)
      for (const auto& kind : there_and_back(given.kinds)) {
        auto line = watch.measure(kind, length, given.steps);
        line["block"] = block;
        print(line);
      }
    progress("latency, {} tokens: {} blocks", length, given.blocks);
  }
}

}  // namespace

void latency(const cogen::model& model, const settings& given) {
  const int turns = given.steps * (2 * given.blocks + 1);
  stopwatch watch(model, given, static_cast<std::size_t>(given.lengths.back()) + static_cast<std::size_t>(turns));
  if (given.serve) return serve(watch);
  run(watch, given);
}

}  // namespace curves
