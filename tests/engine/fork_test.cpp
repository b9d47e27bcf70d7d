// Engines and their handles in a child process after fork(): every operation ends with an error, and nothing hangs.
#include "sanitizers.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cogen::test {
namespace {

// ThreadSanitizer allows no threads in the child of a process that has several, and AddressSanitizer's allocator may
// have been locked by one of them.
BOOST_AUTO_TEST_SUITE(forks, *boost::unit_test::enable_if<!sanitized>())

constexpr int hung = -1;

/// The status that a child of this process ends with: what `run` returns. A child that hangs is killed.
int status_of_child(const std::function<int()>& run) {
  const auto id = ::fork();
  if (id == 0) {
    ::alarm(60);
    ::_exit(run());
  }
  int status = 0;
  ::waitpid(id, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : hung;
}

/// The code that the handler gets which `start` passes to an operation.
template <class Start>
error_code code_of(const Start& start) {
  net::io_context context;
  error_code received;
  start(net::bind_executor(context, [&](error_code code, auto&&...) { received = code; }));
  context.run();
  return received;
}

bool stopped(error_code code) { return code == make_error_code(error::engine_stopped); }

/// What a stream had produced can still be read.
bool ends_stopped(token_stream& stream) {
  error_code code;
  while (!code && !stream.ended()) code = code_of([&](auto handler) { stream.async_next(std::move(handler)); });
  return stopped(code ? code : stream.error().code());
}

bool throws_stopped(const std::function<void()>& call) {
  try {
    call();
  } catch (const boost::system::system_error& e) {
    return stopped(e.code());
  }
  return false;
}

struct handles {
  explicit handles(engine& running)
      : stream(running.generate({.prompt = token_ids{1, 2}, .max_tokens = 60, .max_buffered_tokens = 2})),
        other(running.generate({.prompt = token_ids{2}, .max_buffered_tokens = 32})),
        seq(running.open()) {}

  token_stream stream;
  token_stream other;
  sequence seq;
};

/// The number of the first check that fails; 0: none.
int check_in_child(std::optional<toy_engine>& toy, std::optional<handles>& old) {
  auto& running = toy->running;
  if (!stopped(running.error().code())) return 1;
  if (running.error().message().find("parent process") == std::string::npos) return 2;
  auto fresh = running.generate({.prompt = token_ids{3}});
  if (!ends_stopped(fresh)) return 3;
  code_of([&](auto done) { old->other.async_prompt_progress(std::move(done)); });  // ends, perhaps with news
  if (!ends_stopped(old->stream) || !ends_stopped(old->other)) return 4;
  auto& seq = old->seq;
  if (!stopped(code_of([&](auto done) { seq.async_decode({1}, sampling_params{}, std::move(done)); }))) return 5;
  auto opened = running.open();
  if (!stopped(code_of([&](auto done) { opened.async_forward({1}, logits_of::last, std::move(done)); }))) return 6;
  if (!stopped(code_of([&](auto done) { opened.async_suspend(std::move(done)); }))) return 7;
  if (!stopped(code_of([&](auto done) { running.async_drain(std::move(done)); }))) return 8;
  if (!stopped(code_of([&](auto done) { running.async_compile(json_object(), std::move(done)); }))) return 9;
  if (!stopped(code_of([&](auto done) { running.async_embed({"text"}, std::move(done)); }))) return 10;
  auto another = running.generate({.prompt = token_ids{3}});
  if (!stopped(code_of([&](auto done) { another.async_complete(std::move(done)); }))) return 11;
  if (!throws_stopped([&] { running.poll_one(); })) return 12;
  static_cast<void>(running.stats());
  running.stop();
  auto made_here = std::make_unique<toy_engine>(toy_setup{}, engine_options{});
  auto works = made_here->running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});
  if (code_of([&](auto done) { works.async_complete(std::move(done)); })) return 13;
  auto future = running.generate({.prompt = token_ids{3}});
  if (!throws_stopped([&] { future.async_complete(net::use_future).get(); })) return 14;
  auto again = made_here->running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});
  if (again.async_complete(net::use_future).get().tokens.size() != 3) return 15;
  if (!code_of([&](auto done) { made_here->running.async_compile(json_object(), std::move(done)); })) return 16;
  made_here.reset();
  old.reset();
  toy.reset();
  return 0;
}

/// Locks what handles and the engine share, as often as it can.
class busy_reader {
 public:
  explicit busy_reader(const token_stream& stream)
      : thread_([this, &stream] {
          while (!done_) static_cast<void>(stream.usage());
        }) {}
  ~busy_reader() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

BOOST_AUTO_TEST_CASE(operations_in_a_child_end_with_an_error_and_destructors_return) {
  net::post(net::system_executor(), net::use_future([] {})).get();  // its threads will be missing in the child
  for (int i = 0; i < 8; ++i) {
    std::optional<toy_engine> toy(std::in_place, toy_setup{}, engine_options{});
    std::optional<handles> old(toy->running);
    {
      const busy_reader locking(old->stream);
      BOOST_TEST(status_of_child([&] { return check_in_child(toy, old); }) == 0);
    }
    auto again = toy->running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});
    BOOST_CHECK(!code_of([&](auto done) { again.async_complete(std::move(done)); }));
  }
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_stepped_ends_in_a_child_too) {
  std::optional<toy_engine> toy(std::in_place, toy_setup{}, engine_options{.external_stepping = true});
  std::optional<handles> old(toy->running);
  toy->running.poll_one();
  BOOST_TEST(status_of_child([&] {
               if (!throws_stopped([&] { toy->running.poll_one(); })) return 1;
               if (!ends_stopped(old->stream)) return 2;
               toy.reset();
               old.reset();
               return 0;
             }) == 0);
  BOOST_TEST(toy->running.poll_one());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
