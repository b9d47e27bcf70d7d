#include "serve.hpp"

#include "job.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace throughput {
namespace {

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::print("{}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fflush(stdout);
}

job parsed(const std::string& line, const settings& wanted) {
  std::stringstream stream(line);
  job found{0, 0, 0, 0, wanted.max_buffered_tokens, wanted.prefix_caching, {}};
  stream >> found.first >> found.slots >> found.prompt_tokens >> found.new_tokens;
  for (double arrival; stream >> arrival;) found.arrivals.emplace_back(arrival);
  if (found.first < 0 || found.slots < 1 || found.prompt_tokens < 1 || found.new_tokens < 1 || found.arrivals.empty() ||
      !stream.eof())
    throw std::invalid_argument(fmt::format("\"{}\" is not FIRST SLOTS PROMPT_TOKENS NEW_TOKENS ARRIVAL...", line));
  return found;
}

/// Jobs that read prompts and jobs that go on from there fit the same engine.
constexpr int spare = 64;

/// One engine for as long as jobs fit it, as a server would have it.
class served_engine {
 public:
  served_engine(std::shared_ptr<const cogen::model> model, cogen::engine_options options)
      : model_(std::move(model)), options_(std::move(options)) {}

  cogen::engine& made_for(const job& work) {
    const int length = work.prompt_tokens + std::max(work.new_tokens, spare);
    if (!engine_ || options_.batching.slots != work.slots || options_.limits.max_sequence_length != length) {
      engine_.reset();
      options_.batching.slots = work.slots;
      options_.limits.max_sequence_length = length;
      engine_.emplace(model_, options_);
    }
    return *engine_;
  }

 private:
  std::shared_ptr<const cogen::model> model_;
  cogen::engine_options options_;
  std::optional<cogen::engine> engine_;
};

std::string listed(const observation& times) {
  std::string text;
  for (const auto each : times) text += fmt::format("{}{:.5f}", text.empty() ? "" : ",", each.count());
  return "[" + text + "]";
}

std::string listed(const std::vector<observation>& seen) {
  std::string text;
  for (const auto& each : seen) text += (text.empty() ? "" : ",") + listed(each);
  return "[" + text + "]";
}

}  // namespace

void serve(const settings& wanted) {
  say("{{\"hello\": \"cogen\"}}");
  cogen::load_options loading;
  loading.threads = wanted.engine.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  served_engine engine(model, wanted.engine);
  say("{{\"ready\": \"{}, {} compute type, {} bytes of weights\", \"weight_bytes\": {}}}", model->weight_type(),
      wanted.engine.compute_type.value_or(model->default_compute_type()) == cogen::compute_type::int8 ? "int8"
                                                                                                      : "float32",
      model->weight_bytes(), model->weight_bytes());
  for (std::string line; std::getline(std::cin, line);) {
    const auto work = parsed(line, wanted);
    say("{{\"times\": {}}}", listed(run(engine.made_for(work), model->config().vocabulary, work)));
  }
}

}  // namespace throughput
