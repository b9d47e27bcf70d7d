// mpirun -n 2 mpi_faults [kill|exit|stop|throw|lie|none] [pipeline]: rank 1 fails in the middle of a generation. Rank 0
// prints what its clients get to know, and when. With watch_kill, watch_throw and watch_soon it fails while rank 0
// exchanges nothing.
#include "network/model/load_rank.hpp"
#include "network/parallel/rank_group.hpp"
#include "network/parallel/world.hpp"
#include "test_data.hpp"

#include <cogen/engine.hpp>
#include <cogen/model.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace cogen;
using clock = std::chrono::steady_clock;

/// A transport that fails, in one way, when it sends something after it has exchanged `count` times.
class failing_transport final : public parallel::transport {
 public:
  failing_transport(std::shared_ptr<transport> delegate, std::string fault, int count)
      : delegate_(std::move(delegate)), fault_(std::move(fault)), left_(count) {}

  int rank() const noexcept override { return delegate_->rank(); }
  int size() const noexcept override { return delegate_->size(); }
  void fail(const std::string& why) noexcept override { delegate_->fail(why); }
  void fail_soon(std::string_view why) noexcept override { delegate_->fail_soon(why); }
  std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) override {
    return delegate_->watch(std::move(failed));
  }

  void exchange(std::span<const parallel::outgoing> out, std::span<const parallel::incoming> in) override {
    if (--left_ >= 0 || out.empty() || std::exchange(failed_, true)) return delegate_->exchange(out, in);
    if (fault_ == "kill") std::raise(SIGKILL);
    if (fault_ == "exit") std::_Exit(3);
    if (fault_ == "stop") std::raise(SIGSTOP);
    if (fault_ == "throw") throw std::runtime_error("out of luck");
    if (fault_ == "lie") return lie(out);
    delegate_->exchange(out, in);
  }

 private:
  /// Sends a byte less.
  void lie(std::span<const parallel::outgoing> out) {
    std::vector<parallel::outgoing> shorter(out.begin(), out.end());
    for (auto& each : shorter) each.bytes = each.bytes.first(each.bytes.size() - 1);
    delegate_->exchange(shorter, {});
  }

  std::shared_ptr<transport> delegate_;
  std::string fault_;
  int left_;
  bool failed_ = false;
};

/// How each of several generations ended.
std::vector<std::string> generate(const std::shared_ptr<const model>& model, const engine_options& options) {
  engine running(model, options);
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::string> ends(4, "nothing was heard");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    streams.push_back(running.generate({.prompt = token_ids{1, 2, 3}, .max_tokens = 40, .ignore_eos = true}));
    streams.back().async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      ends[i] = code ? streams[i].error().message() : fmt::format("{} tokens", whole.tokens.size());
    }));
  }
  context.run();
  return ends;
}

void say_ends(const std::vector<std::string>& ends) {
  for (const auto& each : ends)
    if (each != ends.front()) fmt::print("clients were told different things\n");
  fmt::print("{} clients: {}\n", ends.size(), ends.front());
  std::fflush(stdout);
}

/// Rank 1 fails; rank 0 waits outside of exchange() until it is told.
int watch(parallel::transport& world, const std::string& fault) {
  if (world.rank() == 1 && fault == "watch_kill") std::raise(SIGKILL);
  if (world.rank() == 1 && fault == "watch_throw") return world.fail("out of luck"), 0;
  if (world.rank() == 1) world.fail_soon("out of luck");
  std::promise<std::string> told;
  const auto watching = world.watch([&](const std::string& why) { told.set_value(why); });
  fmt::print("watched: {}\n", told.get_future().get());
  return 0;
}

int run(const std::string& fault, bool pipeline) {
  const auto world = parallel::world();
  if (fault.starts_with("watch")) return watch(*world, fault);
  const bool fails = world->rank() == 1;
  constexpr int exchanges = 150;  // in the middle of the answers
  const auto transport = fails ? std::make_shared<failing_transport>(world, fault, exchanges) : world;
  const auto group = std::make_shared<parallel::rank_group>(transport, pipeline ? 1 : 2, pipeline ? 2 : 1);
  pid_t other = ::getpid();
  if (group->leads()) {
    parallel::incoming pid{1, std::as_writable_bytes(std::span(&other, 1))};
    world->exchange({}, {&pid, 1});
  } else {
    parallel::outgoing pid{0, std::as_bytes(std::span(&other, 1))};
    world->exchange({&pid, 1}, {});
  }
  const auto model = nn::load_rank(test::golden_folder("llama_default"), {.threads = 1}, group);
  const engine_options options{.batching = {.slots = 4}, .limits = {.max_sequence_length = 64}, .threads = 1};
  if (fails) return run_worker(model, options), 0;
  const auto begin = clock::now();
  say_ends(generate(model, options));
  fmt::print("after {} ms\n", std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin).count());
  if (fault == "stop") ::kill(other, SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? argv[1] : "none", argc > 2 && std::string_view(argv[2]) == "pipeline");
} catch (const std::exception& error) {
  fmt::print("{}\n", error.what());
  return 1;
}
