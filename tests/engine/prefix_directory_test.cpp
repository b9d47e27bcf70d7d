// Prefixes that one engine stores when it ends are found by the next one, which says the same bits.
#include "engine/snapshot/prefix_directory.hpp"

#include "../test_data.hpp"
#include "../thread_group.hpp"
#include "kept_engines.hpp"
#include "session_files.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;
namespace fs = std::filesystem;

constexpr int answer_tokens = 12;

struct temporary_folder {
  temporary_folder() = default;
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() { fs::remove_all(path); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(path)) found.push_back(each.path());
    std::ranges::sort(found);
    return found;
  }

  const fs::path path = fs::temp_directory_path() / name();

 private:
  static std::string name() {
    static int count = 0;
    return "cogen-test-prefixes-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
};

/// One engine after another over the same directory.
class restarts {
 public:
  explicit restarts(const kept_engine& kind) : kind_(kind), options_(kind.options()) {
    options_.kv.prefix_cache_directory = folder.path;
    options_.log = [this](std::string_view message) { logged.emplace_back(message); };
  }

  std::vector<token> prompt(int count, unsigned seed) const {
    return some_tokens(*golden_model(kind_.golden), count, seed);
  }

  /// What a loop by hand, or an engine without prefixes, says.
  std::vector<token> alone(const std::vector<token>& prompt) const {
    auto options = options_;
    options.kv.prefix_cache_directory.clear();
    engine other(kind_.model(), options);
    return ask(other, {prompt}).at(0).first;
  }

  /// A new engine answers all prompts at once, and ends. Gives for each the tokens found in the cache.
  std::vector<int> serve(const std::vector<std::vector<token>>& prompts, std::optional<std::string> salt = {}) {
    engine running(kind_.model(), options_);
    std::vector<int> cached;
    const auto answers = ask(running, prompts, salt);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      BOOST_TEST(answers[i].first == alone(prompts[i]), boost::test_tools::per_element());
      cached.push_back(answers[i].second);
    }
    return cached;
  }

  engine_options& options() { return options_; }

  temporary_folder folder;
  std::vector<std::string> logged;

 private:
  static std::vector<std::pair<std::vector<token>, int>> ask(engine& running,
                                                             const std::vector<std::vector<token>>& prompts,
                                                             std::optional<std::string> salt = {}) {
    net::io_context context;
    std::vector<token_stream> streams;
    std::vector<std::pair<std::vector<token>, int>> received(prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      streams.push_back(running.generate(
          {.prompt = token_ids(prompts[i]), .max_tokens = answer_tokens, .ignore_eos = true, .cache_salt = salt}));
      streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
        BOOST_TEST(!code);
        for (const auto& each : whole.tokens) received[i].first.push_back(each.id);
        received[i].second = whole.usage.cached_tokens;
      }));
    }
    settle(running, context);
    return received;
  }

  kept_engine kind_;
  engine_options options_;
};

/// Bytes that tell of which prefix they are.
class marked_snapshot final : public kv_snapshot {
 public:
  explicit marked_snapshot(int mark) : bytes_(100'000, static_cast<std::byte>(mark)) {}
  std::size_t size() const noexcept override { return bytes_.size(); }
  int encoder_input() const noexcept override { return 0; }
  snapshot_reader read() const override {
    return [rest = std::span(bytes_)]() mutable { return std::exchange(rest, {}); };
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Stores ten prefixes again and again where six have room, and reads what it finds. Gives how often that was wrong.
int write_and_read(const fs::path& folder, int first) {
  int wrong = 0;
  const detail::session_limits limits{.model = "a", .cache = "b", .vocabulary = 100, .max_sequence_length = 100};
  for (int round = 0; round < 20; ++round) {
    detail::prefix_directory directory(folder, limits, 620'000, [&](std::string_view message) {
      wrong += message.find("cannot be opened") == std::string_view::npos;
    });
    for (int i = 0; i < 10; ++i) {
      const int mark = (first * 3 + i) % 10;
      const std::vector<token> tokens(50, mark);
      const auto found = directory.find(0, tokens, 50, 0);
      try {
        if (found) wrong += directory.read(*found).bytes != std::vector(100'000, static_cast<std::byte>(mark));
      } catch (const generation_error& e) {  // others may have removed it
        wrong += e.why().message().find("cannot be opened") == std::string::npos;
      }
      if (found) continue;
      const scheduler::cached_prefix prefix{0, scheduler::token_list(tokens), {50, 50, 50}};
      wrong += directory.write(prefix, marked_snapshot(mark)) ? 1 : 0;
    }
  }
  return wrong;
}

kept_engine plain(const std::string& golden, const std::string& device = "cpu") {
  return {golden, "as it is", [](engine_options&) {}, device};
}

std::vector<kept_engine> storable() {
  std::vector<kept_engine> result{plain("llama_default")};
  for (const auto& golden : hybrids()) result.push_back(plain(golden));
  for (const auto& each : kept_engines_everywhere())
    if (!golden_model(each.golden)->has_encoder() && each.kind.find("own") == std::string::npos) result.push_back(each);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prefix_directories)

BOOST_AUTO_TEST_CASE(every_golden_with_recurrent_layers_is_tested_here) {
  const auto listed = all_hybrids();
  for (const auto& each : std::filesystem::directory_iterator(test_data() / "golden")) {
    const auto name = each.path().filename().string();
    if (name == "configs" || !std::filesystem::exists(each.path() / "config.json")) continue;
    const auto model = load_model(each.path(), {.threads = 1});
    if (model->embedding_width() > 0) continue;  // nothing of it is cached
    const auto& specs = model->kv_cache_specs();
    const bool recurs = std::ranges::count(specs, cache::layer_kind::recurrent, &cache::kv_cache_spec::kind) > 0;
    BOOST_TEST(recurs == (std::ranges::find(listed, name) != listed.end()), name);
  }
}

BOOST_DATA_TEST_CASE(the_next_turn_of_a_conversation_is_found_after_a_restart, data::make(storable()), each) {
  restarts server(each);
  const auto first = server.prompt(100, 3);
  server.serve({first});
  BOOST_TEST(!server.folder.files().empty());
  const auto second = joined(joined(first, server.alone(first)), server.prompt(3, 4));
  for (const int cached : server.serve({second})) BOOST_TEST(cached >= 0.95 * static_cast<double>(second.size() - 3));
  BOOST_TEST(server.logged.empty());
}

/// Tokens that an engine runs for a sequence that a program opens itself.
BOOST_AUTO_TEST_CASE(a_sequence_finds_what_is_stored) {
  for (const auto* golden : {"llama_default", "qwen3_5_interval", "mamba_tiny"}) {
    restarts server(plain(golden));
    const auto first = server.prompt(100, 3);
    server.serve({first});
    engine running(golden_model(golden), server.options());
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = running.open();
      auto next = first;
      std::vector<token> said;
      for (int i = 0; i < answer_tokens; ++i) {
        said.push_back((co_await seq.async_decode(next)).id);
        next.clear();
      }
      BOOST_TEST(said == server.alone(first), boost::test_tools::per_element());
    });
    BOOST_TEST(running.stats().tokens == std::uint64_t{answer_tokens});
    BOOST_TEST(running.stats().prefix_hit_tokens == 99u);
  }
}

BOOST_AUTO_TEST_CASE(sequences_that_share_nothing_run_all_their_tokens) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  engine running(golden_model("llama_default"), server.options());
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open({.prefix_caching = false});
    co_await seq.async_forward(first);
    BOOST_TEST(running.stats().tokens == 100u);
    auto other = running.open({.cache_salt = "5"});
    co_await other.async_forward(first);
    BOOST_TEST(running.stats().tokens == 200u);
  });
}

/// Its file is read on the thread that steps, and restored in a later round.
BOOST_AUTO_TEST_CASE(a_sequence_that_waits_for_a_prefix_can_be_cancelled_forked_and_destroyed) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  net::io_context context;
  engine running(golden_model("llama_default"), server.options());
  std::vector<error_code> ends;
  const auto end = [&](error_code code, const logits&) { ends.push_back(code); };
  net::cancellation_signal stop;
  auto cancelled = running.open(), forked = running.open();
  std::optional<sequence> destroyed(running.open());
  auto child = forked.fork();
  cancelled.async_forward(first, logits_of::last,
                          net::bind_cancellation_slot(stop.slot(), net::bind_executor(context, end)));
  forked.async_forward(first, logits_of::last, net::bind_executor(context, end));
  destroyed->async_forward(first, logits_of::last, net::bind_executor(context, end));
  running.poll_one();
  stop.emit(net::cancellation_type::terminal);
  destroyed.reset();
  settle(running, context);
  BOOST_REQUIRE(ends.size() == 3u);
  BOOST_TEST(std::ranges::count(ends, error_code()) == 1);
  BOOST_TEST(std::ranges::count(ends, error_code(net::error::operation_aborted)) == 2);
  BOOST_TEST(running.stats().tokens == 1u);
  for (auto* const each : {&cancelled, &child})
    each->async_forward(first, logits_of::last, net::bind_executor(context, end));
  settle(running, context);
  BOOST_TEST(running.stats().tokens == 3u);
  BOOST_TEST(cancelled.tokens().size() == first.size());
}

BOOST_AUTO_TEST_CASE(several_requests_that_come_together_share_what_is_restored_once) {
  for (const auto* golden : {"llama_default", "qwen3_5_interval"}) {
    restarts server(plain(golden));
    const auto first = server.prompt(100, 3);
    server.serve({first});
    std::vector<std::vector<token>> prompts;
    for (unsigned i = 0; i < 6; ++i) prompts.push_back(joined(first, server.prompt(5, 10 + i)));
    for (const int cached : server.serve(prompts)) BOOST_TEST(cached >= 99);
  }
}

BOOST_AUTO_TEST_CASE(other_salts_models_and_kinds_of_cache_find_nothing) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first}, "7");
  BOOST_TEST(server.serve({first}, "8").at(0) == 0);
  BOOST_TEST(server.serve({first}, "7").at(0) == 99);
  server.options().kv.dtype = cache::scalar::bf16;
  BOOST_TEST(server.serve({first}, "7").at(0) == 0);
  BOOST_TEST(server.serve({first}, "7").at(0) == 99);
  server.options().kv.dtype = cache::scalar::f32;
  BOOST_TEST(server.serve({first}, "7").at(0) == 99);
  BOOST_TEST(server.logged.empty());
}

BOOST_AUTO_TEST_CASE(damaged_files_are_reported_and_nothing_else_is_lost) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  const auto path = server.folder.files().at(0);
  const auto size = fs::file_size(path);
  const auto damage = [&](std::uintmax_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char held = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(held ^ 1));
  };
  damage(size - 1);  // of the body, which is read when it is needed
  BOOST_TEST(server.serve({first}).at(0) == 0);
  BOOST_REQUIRE(server.logged.size() == 1u);
  BOOST_TEST(server.logged[0].find("its body is damaged") != std::string::npos);
  BOOST_TEST(server.serve({first}).at(0) == 99);  // it was written again
  damage(60);                                     // of the head
  server.logged.clear();
  BOOST_TEST(server.serve({first}).at(0) == 0);
  BOOST_REQUIRE(server.logged.size() == 1u);
  BOOST_TEST(server.logged[0].find("its head is damaged") != std::string::npos);
  BOOST_TEST(server.serve({first}).at(0) == 99);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_gone_when_it_is_needed_is_reported) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  engine running(golden_model("llama_default"), server.options());
  fs::remove(server.folder.files().at(0));
  drive(running, [&]() -> net::awaitable<void> {
    auto stream = running.generate({.prompt = token_ids(first), .max_tokens = 2, .ignore_eos = true});
    const auto whole = co_await stream.async_complete();
    BOOST_TEST(whole.usage.cached_tokens == 0);
  });
  BOOST_REQUIRE(server.logged.size() == 1u);
  BOOST_TEST(server.logged[0].find("cannot be opened") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_was_used_longest_ago_goes_where_the_directory_is_full) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3), second = server.prompt(100, 4);
  server.serve({first});
  const auto bytes = static_cast<std::int64_t>(fs::file_size(server.folder.files().at(0)));
  fs::last_write_time(server.folder.files().at(0), fs::file_time_type::clock::now() - std::chrono::hours(1));
  server.options().kv.prefix_cache_file_bytes = bytes * 3 / 2;
  server.serve({second});
  BOOST_TEST(server.folder.files().size() == 1u);
  BOOST_TEST(server.serve({second}).at(0) == 99);
  server.options().kv.prefix_cache_file_bytes = 0;
  server.serve({first});
  BOOST_TEST(server.folder.files().empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_costs_nothing_else) {
  restarts server(plain("jamba_tiny"));
  const auto first = server.prompt(100, 3), second = server.prompt(100, 4);
  server.serve({first});
  const auto stored = server.folder.files();
  {
    const file_limit limit(1000);
    BOOST_TEST(server.serve({second}).at(0) == 0);
  }
  BOOST_REQUIRE(server.logged.size() == 1u);
  BOOST_TEST(server.logged[0].starts_with("prefixes cannot be stored: session " + server.folder.path.string()));
  BOOST_TEST(server.logged[0].ends_with("it cannot be written: File too large"));
  BOOST_TEST(server.folder.files() == stored, boost::test_tools::per_element());
  BOOST_TEST(server.serve({first}).at(0) == 99);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_reported_and_nothing_else_is_lost) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  const auto folder = server.folder.path / "folder.prefix", empty = server.folder.path / "empty.prefix";
  fs::create_directory(folder);
  std::ofstream(empty).close();
  BOOST_TEST(server.serve({first}).at(0) == 99);
  std::ranges::sort(server.logged);
  BOOST_REQUIRE(server.logged.size() == 2u);
  BOOST_TEST(server.logged[0] == "session " + empty.string() + ": it is not a session of cogen");
  BOOST_TEST(server.logged[1] == "session " + folder.string() + ": it is not a regular file");
}

BOOST_AUTO_TEST_CASE(what_a_process_has_left_unfinished_is_removed_after_a_while) {
  restarts server(plain("llama_default"));
  fs::create_directory(server.folder.path);
  const auto recent = server.folder.path / "a.prefix.1-1.part", old = server.folder.path / "b.prefix.1-2.part";
  for (const auto& each : {recent, old}) std::ofstream(each) << "begun";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  const engine running(golden_model("llama_default"), server.options());
  BOOST_TEST(server.folder.files() == std::vector{recent}, boost::test_tools::per_element());
  BOOST_TEST(server.logged.empty());
}

BOOST_AUTO_TEST_CASE(processes_that_use_a_directory_at_once_find_whole_files_or_none) {
  const temporary_folder folder;
  std::vector<::pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(::fork());
    BOOST_REQUIRE(children.back() >= 0);
    if (children.back() == 0) ::_exit(write_and_read(folder.path, i) == 0 ? 0 : 1);
  }
  BOOST_TEST(write_and_read(folder.path, 3) == 0);
  for (const auto each : children) {
    int status = -1;
    BOOST_TEST(::waitpid(each, &status, 0) == each);
    BOOST_TEST(status == 0);
  }
  for (const auto& each : folder.files()) BOOST_TEST(each.extension() == ".prefix");
}

BOOST_AUTO_TEST_CASE(engines_that_use_a_directory_at_once_store_and_find) {
  restarts server(plain("qwen3_5_interval"));
  const auto first = server.prompt(100, 3);
  const auto expected = server.alone(first);
  server.options().external_stepping = false;
  thread_group threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.start([&, own = server.prompt(60, 10 + static_cast<unsigned>(i))] {
      for (int round = 0; round < 3; ++round) {
        engine running(golden_model("qwen3_5_interval"), server.options());
        for (const auto& each : {own, first}) {
          auto stream = running.generate({.prompt = token_ids(each), .max_tokens = answer_tokens, .ignore_eos = true});
          const auto whole = stream.async_complete(net::use_future).get();
          std::vector<token> ids;
          for (const auto& chosen : whole.tokens) ids.push_back(chosen.id);
          if (each == first && ids != expected) ++wrong;
        }
      }
    });
  threads.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(server.logged.empty());
  server.options().external_stepping = true;
  BOOST_TEST(server.serve({first}).at(0) == 99);
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_used_and_caches_that_cannot_be_stored_are_refused) {
  restarts server(plain("llama_default"));
  std::ofstream(server.folder.path) << "a file";
  BOOST_CHECK_EXCEPTION(
      engine(golden_model("llama_default"), server.options()), std::invalid_argument, [](const auto& e) {
        return std::string(e.what()).find("engine_options.kv.prefix_cache_directory") != std::string::npos;
      });
  fs::remove(server.folder.path);
  server.options().kv.prefix_cache_file_bytes = -1;
  BOOST_CHECK_THROW(engine(golden_model("llama_default"), server.options()), std::invalid_argument);
  server.options().kv.prefix_cache_file_bytes = 1000;
  server.options().kv.prefix_cache_directory = "/dev/null/prefixes";
  BOOST_CHECK_EXCEPTION(
      engine(golden_model("llama_default"), server.options()), std::invalid_argument, [](const auto& e) {
        return std::string(e.what()) ==
               "engine_options.kv.prefix_cache_directory is /dev/null/prefixes: it cannot be used: Not a directory";
      });
}

BOOST_AUTO_TEST_CASE(engines_with_threads_of_their_own_store_and_restore) {
  restarts server(plain("jamba_tiny"));
  server.options().external_stepping = false;
  const auto first = server.prompt(100, 3);
  const auto ask = [&] {
    engine running(golden_model("jamba_tiny"), server.options());
    net::io_context context;
    int cached = -1;
    auto stream = running.generate({.prompt = token_ids(first), .max_tokens = 4, .ignore_eos = true});
    stream.async_complete(net::bind_executor(context, [&](error_code code, completion whole) {
      BOOST_TEST(!code);
      cached = whole.usage.cached_tokens;
    }));
    context.run();
    return cached;
  };
  BOOST_TEST(ask() == 0);
  BOOST_TEST(ask() >= 96);
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_stopped_while_requests_wait_for_a_prefix_ends_them) {
  restarts server(plain("llama_default"));
  const auto first = server.prompt(100, 3);
  server.serve({first});
  net::io_context context;
  error_code received;
  std::optional<engine> running(std::in_place, golden_model("llama_default"), server.options());
  auto stream = running->generate({.prompt = token_ids(first), .max_tokens = 4, .ignore_eos = true});
  stream.async_complete(net::bind_executor(context, [&](error_code code, const completion&) { received = code; }));
  running->poll_one();  // reads the file
  running.reset();
  context.run();
  BOOST_TEST((received == error::engine_stopped));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
