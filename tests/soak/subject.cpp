#include "subject.hpp"

#include "engine/model_engines.hpp"
#include "engine/toy_runner.hpp"

#include <algorithm>
#include <stdexcept>

namespace cogen::soak {
namespace {

constexpr int stories = 48;
constexpr int said = 24;

int max_sequences(const options& wanted) { return wanted.slots * wanted.overload; }

subject toy(const options& wanted) {
  const auto control = std::make_shared<test::toy_control>();
  control->on_step = [list = control.get()](const scheduler::step&) { list->batches.clear(); };
  engine_parts parts;
  parts.limits.slots = wanted.slots;
  parts.limits.max_sequence_length = 64;
  parts.limits.max_batched_tokens = 16;
  parts.limits.idle_timeout = std::chrono::nanoseconds(0);
  parts.limits.usage.per_block = 1;  // what takes nothing would be swapped out, and the toy runner has no transfers
  parts.runner = std::make_unique<test::toy_runner>(control, wanted.slots);
  engine_options options;
  options.limits.max_sequences = max_sequences(wanted);
  subject result;
  options.events = result.wanting;
  result.max_sequence_length = parts.limits.max_sequence_length;
  result.vocabulary = test::toy_vocabulary;
  result.running = std::make_unique<engine>(std::move(parts), options);
  for (token i = 0; i < stories; ++i) {
    const std::vector<token> prompt(1 + static_cast<std::size_t>(i % 20), i);
    result.stories.push_back({prompt, test::toy_continuation(prompt, said)});
  }
  return result;
}

subject golden(const options& wanted) {
  const auto model = test::golden_model("llama_default");
  auto options = test::tiny_engine(*model);
  subject result;
  result.max_sequence_length = *options.limits.max_sequence_length;
  result.vocabulary = static_cast<int>(model->config().vocabulary);
  for (int i = 0; i < stories; ++i) {
    const auto prompt = test::some_tokens(*model, 1 + (i * 5) % 100, static_cast<unsigned>(i));
    result.stories.push_back({prompt, test::loop_by_hand(*model, options, prompt, said)});
  }
  options.batching.slots = wanted.slots;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.limits.max_sequences = max_sequences(wanted);
  options.external_stepping = false;
  options.events = result.wanting;
  result.swap_outs = true;
  result.running = std::make_unique<engine>(model, options);
  return result;
}

}  // namespace

void crowd::on_step(const step_event& step) {
  ++steps_;
  requests_ += static_cast<std::uint64_t>(step.slots_in_use + step.waiting);
}

void crowd::on_sequence(const sequence_event& event) {
  if (event.type == sequence_event::kind::resumed) ++resumed_;
}

double crowd::mean() const {
  return static_cast<double>(requests_) / static_cast<double>(std::max<std::uint64_t>(1, steps_));
}

subject make_subject(const options& wanted) {
  if (wanted.subject == "toy") return toy(wanted);
  if (wanted.subject == "golden") return golden(wanted);
  throw std::invalid_argument("--subject is " + wanted.subject + "; it must be toy or golden");
}

}  // namespace cogen::soak
