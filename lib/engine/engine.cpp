#include "engine/async/call_member.hpp"
#include "engine/checked_encoder_input.hpp"
#include "engine/compile_state.hpp"
#include "engine/drain_state.hpp"
#include "engine/embedding/text_state.hpp"
#include "engine/engine_loop.hpp"
#include "engine/parts/checked_options.hpp"
#include "engine/parts/make_parts.hpp"
#include "engine/prompt_bytes.hpp"
#include "engine/request_estimate.hpp"
#include "engine/sequence_state.hpp"
#include "engine/session/stream_operations.hpp"
#include "engine/strategy_stream.hpp"
#include "engine/stream_state.hpp"

#include <cogen/engine.hpp>

#include <fmt/format.h>

#include <future>
#include <thread>
#include <utility>

namespace cogen {
namespace {

using detail::call_member;
using detail::compile_state;
using detail::drain_state;
using detail::sequence_state;
using detail::stream_open;
using detail::stream_state;

constexpr std::size_t long_prompt = 16 << 10;  // bytes; longer ones are tokenized on another thread
constexpr std::size_t huge_prompt = 1 << 20;   // bytes; longer ones are tokenized few at a time

/// How a request is read: at once, on another thread, or there in turn of tenants.
enum class reading : std::uint8_t { at_once, beside, in_turn };

reading reading_of(const request& request) {
  const auto bytes = detail::prompt_bytes(request, huge_prompt + 1);
  if (bytes > huge_prompt) return reading::in_turn;
  const bool compiles = request.response_format && std::holds_alternative<response_format>(*request.response_format);
  const bool is_slow = compiles || !request.tools->empty() || request.reasoning_budget;
  return is_slow || bytes > long_prompt ? reading::beside : reading::at_once;
}

using states = std::vector<std::shared_ptr<stream_state>>;

/// The first one's prompt is read for all.
void begin(detail::engine_loop& loop, const std::shared_ptr<request>& request, const states& streams) {
  const auto mode = reading_of(*request);
  const auto& first = streams.front();
  const states peers(streams.begin() + 1, streams.end());
  if (!first->admit(peers)) return;
  if (mode == reading::at_once) return first->prepare(*request, peers);
  auto prepare = [request, first, peers] { first->prepare(*request, peers); };
  if (mode == reading::beside)
    loop.offload(std::move(prepare));
  else
    loop.huge_prompts().put(request->tenant, std::move(prepare));
  for (const auto& each : streams) each->start_deadlines();
}

void check_number(std::string_view name, int of_streams, const detail::engine_loop& loop) {
  const int slots = loop.parts().limits.slots, waiting = loop.options().limits.max_waiting;
  if (of_streams < 1 || of_streams > slots + waiting)
    throw std::invalid_argument(
        fmt::format("{} is {}; it must be between 1 and {}, the {} slots and the {} places in the queue", name,
                    of_streams, slots + waiting, slots, waiting));
}

/// `n` generations of one request, each in a state that `make` makes of a branch of random numbers. Their sequences
/// are not forked: they find their common prompt in the prefix cache.
template <class Make>
states make_states(detail::engine_loop& loop, int n, const Make& make) {
  random_stream random(loop.fresh_seed());
  states streams{make(random)};
  while (std::ssize(streams) < n) streams.push_back(make(random.fork()));
  return streams;
}

stream_group group_of(const states& streams) { return stream_group({streams.begin(), streams.end()}); }

states strategy_states(const std::shared_ptr<detail::engine_loop>& loop, const std::shared_ptr<request>& request,
                       group_strategy strategy) {
  const int n = strategy.streams;
  const auto run = std::make_shared<detail::strategy_run>(std::move(strategy));
  return make_states(*loop, n, [&](random_stream random) {
    auto stream = std::make_shared<detail::strategy_stream>(loop, request, random, run);
    run->add(stream);
    return stream;
  });
}

void check_runs(bool runs) {
  if (!runs) throw std::invalid_argument("strategy.run is empty; it makes the coroutine");
}

group_strategy group_of_one(strategy strategy) {
  return {.run = [run = std::move(strategy.run)](strategy_input input, std::span<strategy_output> outputs) {
    return run(std::move(input), outputs.front());
  }};
}

/// Sets an empty max_sequence_length to the engine's limit.
open_options checked(open_options options, const detail::engine_loop& loop) {
  const int limit = loop.parts().limits.max_sequence_length;
  const int length = options.max_sequence_length.value_or(limit);
  if (length < 1 || length > limit)
    throw std::invalid_argument(
        fmt::format("open_options.max_sequence_length is {}; it must be between 1 and {}", length, limit));
  options.max_sequence_length = length;
  detail::check_salt(options.cache_salt);
  return options;
}

}  // namespace

class engine::engine_thread {
 public:
  /// Throws what the runner's start() throws.
  explicit engine_thread(const std::shared_ptr<detail::engine_loop>& loop) : loop_(loop) {
    std::promise<void> start;
    auto started = start.get_future();
    thread_ = std::thread([loop, start = std::move(start)]() mutable { run(*loop, std::move(start)); });
    try {
      started.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~engine_thread() {
    loop_->request_stop();
    if (thread_.get_id() == std::this_thread::get_id())
      thread_.detach();
    else
      thread_.join();
  }

 private:
  static void run(detail::engine_loop& loop, std::promise<void> start) noexcept {
    try {
      loop.start();
    } catch (...) {
      loop.end();
      return start.set_exception(std::current_exception());
    }
    start.set_value();
    loop.run();
  }

  std::shared_ptr<detail::engine_loop> loop_;
  std::thread thread_;
};

engine::engine(std::shared_ptr<const model> model, engine_options options)
    : engine(detail::make_parts(model, options), std::move(options)) {}

engine::engine(engine_parts parts, engine_options options) {
  detail::check(options);
  const bool external_stepping = options.external_stepping;
  loop_ = std::make_shared<detail::engine_loop>(std::move(parts), std::move(options));
  if (!external_stepping) thread_ = std::make_unique<engine_thread>(loop_);
}

engine::engine(engine&&) noexcept = default;

engine& engine::operator=(engine&& other) noexcept {
  if (this == &other) return *this;
  const engine ended(std::move(*this));
  loop_ = std::move(other.loop_);
  thread_ = std::move(other.thread_);
  return *this;
}

engine::~engine() {
  if (!loop_) return;
  if (loop_->is_forked()) {
    static_cast<void>(thread_.release());
    auto& loop = *loop_;
    loop.keep(std::move(loop_));
    return;
  }
  if (!thread_) loop_->end();
  thread_.reset();
}

token_stream engine::generate(request request) {
  const auto shared = std::make_shared<cogen::request>(std::move(request));
  const auto state = std::make_shared<stream_state>(loop_, shared, random_stream(loop_->fresh_seed()));
  begin(*loop_, shared, {state});
  return token_stream(state);
}

stream_group engine::generate_n(request request, int n) {
  check_number("n", n, *loop_);
  const auto shared = std::make_shared<cogen::request>(std::move(request));
  const auto streams = make_states(
      *loop_, n, [&](random_stream random) { return std::make_shared<stream_state>(loop_, shared, random); });
  auto group = group_of(streams);
  begin(*loop_, shared, streams);
  return group;
}

token_stream engine::generate(request request, strategy strategy) {
  check_runs(strategy.run != nullptr);
  const auto shared = std::make_shared<cogen::request>(std::move(request));
  const auto streams = strategy_states(loop_, shared, group_of_one(std::move(strategy)));
  begin(*loop_, shared, streams);
  return token_stream(streams.front());
}

stream_group engine::generate(request request, group_strategy strategy) {
  check_number("strategy.streams", strategy.streams, *loop_);
  check_runs(strategy.run != nullptr);
  const auto shared = std::make_shared<cogen::request>(std::move(request));
  const auto streams = strategy_states(loop_, shared, std::move(strategy));
  auto group = group_of(streams);
  begin(*loop_, shared, streams);
  return group;
}

request_estimate engine::estimate(const request& request) const { return detail::estimate_of(loop_, request); }

sequence engine::open(const open_options& options) { return open(std::vector<token>(), options); }

sequence engine::open(std::vector<token> encoder_input, const open_options& options) {
  const auto within = checked(options, *loop_);
  auto read = detail::checked_encoder_input(std::move(encoder_input), loop_->parts(), loop_->vocabulary());
  return sequence(std::make_shared<sequence_state>(loop_, within, std::move(read)));
}

detail::initiation<sequence(std::filesystem::path)> engine::new_opening(const open_options& options) const {
  return {std::make_shared<sequence_state>(loop_, checked(options, *loop_), nullptr),
          call_member<&sequence_state::start_open>};
}

detail::initiation<sequence()> engine::new_opening(const open_options& options,
                                                   std::shared_ptr<byte_source> source) const {
  auto opened = std::make_shared<sequence_state>(loop_, checked(options, *loop_), nullptr);
  return {std::make_shared<stream_open>(std::move(opened), std::move(source)), call_member<&stream_open::start>};
}

engine::embedding_initiation engine::new_embedding(const work_options& options) const {
  using state = embedding::text_state<std::vector<float>>;
  return {std::make_shared<state>(loop_, options.tenant), call_member<&state::start>};
}

detail::initiation<std::vector<float>(std::vector<encoder_input>)> engine::new_scoring(
    const work_options& options) const {
  using state = embedding::text_state<float>;
  return {std::make_shared<state>(loop_, options.tenant), call_member<&state::start>};
}

detail::initiation<compiled_format(response_format)> engine::new_compilation(const work_options& options) const {
  return {std::make_shared<compile_state>(loop_, options.tenant), call_member<&compile_state::start>};
}

detail::initiation<void()> engine::new_drain() const {
  return {std::make_shared<drain_state>(loop_), call_member<&drain_state::start>};
}

engine::executor_type engine::get_executor() const { return loop_->executor(); }

bool engine::poll_one() {
  if (loop_->is_forked()) throw generation_error(loop_->error());
  return loop_->poll_one();
}

void engine::drop_prefix_cache() noexcept { loop_->drop_prefix_cache(); }

void engine::stop() noexcept {
  if (loop_->is_forked()) return;
  loop_->request_stop();
  if (!thread_) loop_->end();
}

diagnostics engine::error() const { return loop_->error(); }

std::shared_ptr<const text::tokenizer> engine::tokenizer() const { return loop_->parts().tokenizer; }

int engine::vocabulary() const { return loop_->vocabulary(); }

engine_stats engine::stats() const { return loop_->stats(); }

}  // namespace cogen
