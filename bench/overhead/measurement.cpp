#include "measurement.hpp"

#include <cogen/extend/runner.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <stdexcept>
#include <thread>

namespace net = boost::asio;

namespace overhead {
namespace {

/// Another runner, whose launches are a part of their own, and take until `ready()`.
class timed_runner final : public cogen::runner {
 public:
  timed_runner(std::unique_ptr<cogen::runner> inner, meter& with, std::function<void(const cogen::step&)> ready)
      : inner_(std::move(inner)), with_(with), ready_(std::move(ready)) {}

  int vocabulary() const override { return inner_->vocabulary(); }
  void launch(cogen::step& step) override {
    with_.enter(part::launch);
    ready_(step);
    inner_->launch(step);
    with_.enter(part::engine);
  }
  std::string snapshot_format() const override { return inner_->snapshot_format(); }

 private:
  const std::unique_ptr<cogen::runner> inner_;
  meter& with_;
  const std::function<void(const cogen::step&)> ready_;
};

struct reading {
  std::atomic<std::int64_t> tokens = 0;
  std::atomic<bool> over = false;
};

net::awaitable<void> read(cogen::token_stream stream, reading& state) {
  while (!state.over.load(std::memory_order_relaxed)) {
    const auto piece = co_await stream.async_next();
    if (!piece) co_return;
    state.tokens += static_cast<std::int64_t>(piece->tokens.size());
  }
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

/// Two tokens that no other request begins with.
std::vector<cogen::token> prompt(int request) { return {1 + request / 32, 1 + request % 32}; }

/// Streams that generate one token, and then wait for a reader.
std::vector<cogen::token_stream> idle_streams(cogen::engine& engine, const workload& load, int requests) {
  std::vector<cogen::token_stream> streams;
  for (int i = requests; i < requests + load.idle; ++i)
    streams.push_back(engine.generate({.prompt = prompt(i), .ignore_eos = true, .max_buffered_tokens = 1}));
  return streams;
}

void spawn(cogen::engine& engine, net::io_context& context, const workload& load, int requests, reading& state) {
  for (int i = 0; i < requests; ++i) {
    cogen::request request{.prompt = prompt(i), .sampling = load.sampling, .ignore_eos = true};
    net::co_spawn(context, read(engine.generate(std::move(request)), state), rethrow);
  }
}

cogen::engine_options options(int requests, bool external_stepping) {
  cogen::engine_options result;
  result.limits.max_sequences = result.limits.max_waiting = requests;
  result.external_stepping = external_stepping;
  return result;
}

costs middle_of(const std::vector<costs>& rounds) {
  costs middle;
  for (std::size_t i = 0; i < middle.size(); ++i)
    for (auto member : {&cost::nanoseconds, &cost::allocations, &cost::instructions}) {
      std::vector<double> values;
      for (const auto& each : rounds) values.push_back(each[i].*member);
      middle[i].*member = median(values);
    }
  return middle;
}

/// Everything on this thread, and so the same work each time.
class external_stepping {
 public:
  external_stepping(const workload& load, int requests, int steps_before, meter& with)
      : name_(load.name),
        requests_(requests),
        with_(with),
        engine_(make(load), options(requests + load.idle, true)),
        idle_(idle_streams(engine_, load, requests)) {
    spawn(engine_, context_, load, requests, state_);
    run(steps_before);
    with_.take("before " + name_);
  }

  costs round(int steps) {
    costs result;
    const auto rows = engine_.stats().rows;
    for (std::size_t i = 0; i < result.size(); ++i) {
      with_.count(measured_parts[i]);
      run(steps);
      result[i] = with_.take(name_ + ", " + std::to_string(requests_) + " requests, part " + std::to_string(i))[i];
      with_.count(std::nullopt);
    }
    if (engine_.stats().rows - rows != result.size() * static_cast<std::uint64_t>(steps) * requests_)
      throw std::runtime_error(name_ + ": not every request was in every step");
    return result;
  }

 private:
  cogen::engine_parts make(const workload& load) {
    auto parts = load.make(static_cast<int>(requests_) + load.idle);
    parts.runner = std::make_unique<timed_runner>(std::move(parts.runner), with_, [](const auto&) {});
    return parts;
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      with_.enter(part::engine);
      engine_.poll_one();
      with_.enter(part::readers);
      context_.restart();
      context_.poll();
      with_.end_step();
    }
  }

  std::string name_;
  std::uint64_t requests_;
  meter& with_;
  reading state_;
  net::io_context context_;
  cogen::engine engine_;
  std::vector<cogen::token_stream> idle_;
};

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The engine has its own thread.
class beside {
 public:
  beside(const workload& load, int requests, const effort& amount) : amount_(amount), engine_(make(load, requests)) {
    spawn(engine_, context_, load, requests, state_);
  }

  void run(measurement& output) {
    const double begin = processor_seconds();
    context_.run();
    output.processor = 1e9 * (processor_seconds() - begin) / steps_;
    output.own_thread = between_;
  }

 private:
  cogen::engine make(const workload& load, int requests) {
    auto parts = load.make(requests);
    auto ready = [this](const cogen::step& step) { this->ready(step); };
    parts.runner = std::make_unique<timed_runner>(std::move(parts.runner), with_, std::move(ready));
    return cogen::engine(std::move(parts), options(requests, false));
  }

  /// On the engine's thread, as a launch begins.
  void ready(const cogen::step& step) {
    while (state_.tokens < expected_ && !state_.over) std::this_thread::yield();
    for (const auto& row : step.rows) expected_ += row.wanted == cogen::scheduler::output::sample;
    with_.end_step();
    with_.enter(part::launch);
    if (++steps_ == amount_.steps) with_.take({});
    if (steps_ == amount_.steps * (amount_.rounds + 1)) {
      between_ = with_.take({})[0].nanoseconds;
      state_.over = true;
    }
  }

  const effort amount_;
  reading state_;
  meter with_;
  std::int64_t expected_ = 0;
  int steps_ = 0;
  std::atomic<double> between_ = 0;  ///< two launches, the engine's time
  net::io_context context_;
  cogen::engine engine_;
};

}  // namespace

measurement measure(const workload& load, int requests, const effort& amount, meter& with) {
  measurement result{.requests = requests, .parts = {}, .own_thread = 0, .processor = 0};
  {
    external_stepping running(load, requests, amount.steps, with);
    std::vector<costs> rounds;
    for (int i = 0; i < amount.rounds; ++i) rounds.push_back(running.round(amount.steps));
    result.parts = middle_of(rounds);
  }
  if (with.slows_down() || load.idle > 0) return result;
  beside running(load, requests, amount);
  running.run(result);
  return result;
}

line fitted(const std::vector<std::pair<double, double>>& points) {
  double weight = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [requests, value] : points) {
    if (value <= 0) return {};
    const double w = 1 / (value * value);
    weight += w, x += w * requests, y += w * value, xx += w * requests * requests, xy += w * requests * value;
  }
  const double divisor = weight * xx - x * x;
  if (divisor == 0) return {};
  const double slope = (weight * xy - x * y) / divisor;
  return {(y - slope * x) / weight, slope};
}

}  // namespace overhead
