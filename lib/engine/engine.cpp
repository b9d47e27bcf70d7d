#include "engine/checked_encoder_input.hpp"
#include "engine/checked_options.hpp"
#include "engine/drain_state.hpp"
#include "engine/engine_loop.hpp"
#include "engine/sequence_state.hpp"
#include "engine/stream_state.hpp"

#include <cogen/engine.hpp>

#include <fmt/format.h>

#include <thread>

namespace cogen {
namespace {

constexpr std::size_t long_prompt = 16 * 1024;  // bytes; longer ones are tokenized on another thread

std::size_t bytes_of(const request& what) {
  if (const auto* text = std::get_if<std::string>(&what.prompt)) return text->size();
  std::size_t bytes = 0;
  if (const auto* messages = std::get_if<chat_messages>(&what.prompt))
    for (const auto& each : *messages) bytes += each.content.size();
  return bytes;
}

/// Sets an empty max_sequence_length to the engine's limit.
open_options checked(open_options options, const detail::engine_loop& of) {
  const int limit = of.parts().limits.max_sequence_length;
  const int length = options.max_sequence_length.value_or(limit);
  if (length < 1 || length > limit)
    throw std::invalid_argument(
        fmt::format("open_options.max_sequence_length is {}; it must be between 1 and {}", length, limit));
  options.max_sequence_length = length;
  return options;
}

}  // namespace

class engine::engine_thread {
 public:
  explicit engine_thread(const std::shared_ptr<detail::engine_loop>& loop)
      : loop_(loop), thread_([loop] { loop->run(); }) {}

  ~engine_thread() {
    loop_->request_stop();
    if (thread_.get_id() == std::this_thread::get_id())
      thread_.detach();
    else
      thread_.join();
  }

 private:
  std::shared_ptr<detail::engine_loop> loop_;
  std::thread thread_;
};

engine::engine(engine_parts parts, engine_options options) {
  detail::check(options);
  const bool external_stepping = options.external_stepping;
  loop_ = std::make_shared<detail::engine_loop>(std::move(parts), std::move(options));
  if (!external_stepping) thread_ = std::make_unique<engine_thread>(loop_);
}

engine::engine(engine&&) noexcept = default;

engine& engine::operator=(engine&& other) noexcept {
  const engine ended(std::move(*this));
  loop_ = std::move(other.loop_);
  thread_ = std::move(other.thread_);
  return *this;
}

engine::~engine() {
  if (!loop_) return;
  if (!thread_) loop_->end();
  thread_.reset();
}

token_stream engine::generate(request what) {
  const bool is_long = bytes_of(what) > long_prompt;
  auto state = std::make_shared<detail::stream_state>(loop_, std::move(what));
  if (!state->admit()) return token_stream(std::move(state));
  if (is_long) {
    loop_->offload([state] { state->prepare(); });
    state->start_deadlines();
  } else {
    state->prepare();
  }
  return token_stream(std::move(state));
}

sequence engine::open(const open_options& options) { return open(std::vector<token>(), options); }

sequence engine::open(std::vector<token> encoder_input, const open_options& options) {
  const auto within = checked(options, *loop_);
  auto read = detail::checked_encoder_input(std::move(encoder_input), loop_->parts(), loop_->vocabulary());
  return sequence(std::make_shared<detail::sequence_state>(loop_, within, std::move(read)));
}

std::shared_ptr<detail::sequence_face> engine::new_opening(const open_options& options) const {
  return std::make_shared<detail::sequence_state>(loop_, checked(options, *loop_), nullptr);
}

std::shared_ptr<detail::drain_face> engine::new_drain() const { return std::make_shared<detail::drain_state>(loop_); }

engine::executor_type engine::get_executor() const { return loop_->executor(); }

bool engine::poll_one() { return loop_->poll_one(); }

void engine::stop() noexcept {
  loop_->request_stop();
  if (!thread_) loop_->end();
}

diagnostics engine::error() const { return loop_->error(); }

engine_stats engine::stats() const { return loop_->stats(); }

}  // namespace cogen
