#pragma once

#include <cogen/clock.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cogen {

/// What an engine has to know of a model with an encoder.
struct encoder_spec {
  token start;      ///< every answer begins with it
  int longest = 0;  ///< tokens of an encoder input
};

/// What an engine is put together from. `engine(model, options)` fills it in; tests, simulations and own back ends
/// bring their own.
struct engine_parts {
  std::unique_ptr<cogen::runner> runner;
  scheduler::limits limits;
  std::unique_ptr<scheduler::scheduling_policy> scheduling_policy = scheduler::fcfs();
  std::unique_ptr<scheduler::preemption_policy> preemption_policy = scheduler::longest_idle();
  std::unique_ptr<scheduler::allocation_policy> allocation_policy = scheduler::reserve_max_length();
  std::shared_ptr<const text::tokenizer> tokenizer;  ///< none: prompts are token ids, and pieces have no text
  std::shared_ptr<const text::chat_template> chat;   ///< none: chat messages are refused
  std::string chat_error;                            ///< why there is none, if the model brings one
  std::vector<token> end_tokens;                     ///< end a generation unless its request ignores them
  std::optional<encoder_spec> encoder_inputs;        ///< none: the model has no encoder
  std::string fingerprint;                           ///< of the model: sessions are opened where it is the same
  std::shared_ptr<const cogen::clock> clock = std::make_shared<steady_clock>();
};

}  // namespace cogen
