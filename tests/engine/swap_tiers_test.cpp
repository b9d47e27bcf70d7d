// What is swapped out has room in memory, and then in a file.
#include "engine/snapshot/swap_file.hpp"
#include "formats/checkpoint/checksum.hpp"
#include "model_engines.hpp"
#include "session_files.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

const auto folder = std::filesystem::temp_directory_path();

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Two sequences that are preempted, of one slot.
struct two_preempted {
  explicit two_preempted(const std::string& device, std::int64_t in_memory, std::int64_t in_file = 1 << 30) {
    options.batching.slots = 1;
    options.swap.bytes = in_memory;
    options.swap.directory = folder;
    options.swap.file_bytes = in_file;
    options.log = [this](std::string_view said) { log += said; };
    running.emplace(golden_model("llama_default", device), options);
  }

  /// An engine on the reference backend has the memory of its slot, which is a file, too, from its first step on.
  void start() {
    drive(*running, [&]() -> net::awaitable<void> {
      auto seq = running->open();
      co_await seq.async_forward({1});
    });
  }

  void suspend() {
    drive(*running, [&]() -> net::awaitable<void> {
      for (int i = 0; i < 2; ++i) {
        auto& seq = sequences.emplace_back(running->open());
        co_await seq.async_forward(prompt(i));
        co_await seq.async_suspend();
      }
    });
    run_before = running->stats().tokens;
  }

  /// Of each prompt. With the answers they nearly fill a block, which devices count and do not copy.
  static constexpr int tokens = 61;

  std::vector<token> prompt(int i) const { return some_tokens(*model, tokens, static_cast<unsigned>(i)); }

  /// Both go on as they would alone. Returns how many tokens were run.
  std::uint64_t check() {
    for (int i = 0; i < 2; ++i) {
      std::vector<token> answer;
      drive(*running, [&]() -> net::awaitable<void> {
        for (int count = 0; count < 3; ++count)
          answer.push_back((co_await sequences[static_cast<std::size_t>(i)].async_decode()).id);
        co_await sequences[static_cast<std::size_t>(i)].async_suspend();
      });
      BOOST_TEST(answer == loop_by_hand(*model, options, prompt(i), 3), boost::test_tools::per_element());
    }
    return running->stats().tokens - run_before;
  }

  std::shared_ptr<const cogen::model> model = golden_model("llama_default");
  engine_options options = tiny_engine(*model);
  std::string log;
  std::optional<engine> running;
  std::vector<sequence> sequences;
  std::uint64_t run_before = 0;
};

std::int64_t bytes_on(int descriptor) { return ::lseek(descriptor, 0, SEEK_END); }

/// Of one of the two.
std::int64_t snapshot_bytes(const std::string& device) {
  two_preempted p(device, 0);
  p.suspend();
  return bytes_on(nameless_files().at(0)) / 2;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_checksum_is_xxh64) {
  const auto sum = [](std::string_view text) { return load::checksum_of(bytes_of(text)); };
  BOOST_TEST(sum("") == 0xef46db3751d8e999u);
  BOOST_TEST(sum("a") == 0xd24ec4f1a98c6e5bu);
  BOOST_TEST(sum("Nobody inspects the spammish repetition") == 0xfbcea83c8a378bf1u);
}

BOOST_AUTO_TEST_CASE(the_checksum_does_not_depend_on_the_pieces) {
  std::string text(300, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const auto whole = load::checksum_of(bytes_of(text));
  for (const std::size_t piece : {1, 3, 31, 32, 33, 100}) {
    load::checksum sum;
    for (std::size_t offset = 0; offset < text.size(); offset += piece)
      sum.add(std::string_view(text).substr(offset, piece));
    BOOST_TEST(sum.value() == whole);
  }
}

BOOST_AUTO_TEST_CASE(ranges_of_the_file_are_taken_where_there_is_a_gap) {
  detail::swap_file file(folder, 10);
  BOOST_TEST((file.take(4) == 0));
  BOOST_TEST((file.take(4) == 4));
  BOOST_TEST(!file.take(3));
  BOOST_TEST((file.take(2) == 8));
  file.give_back(0);
  BOOST_TEST(!file.take(5));
  BOOST_TEST((file.take(3) == 0));
  BOOST_TEST((file.take(1) == 3));
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_and_nothing_beyond) {
  const detail::swap_file file(folder, 100);
  file.write(10, bytes_of("hello"));
  std::vector<std::byte> found(5);
  file.read(10, found);
  BOOST_TEST((found == bytes_of("hello")));
  BOOST_CHECK_THROW(file.read(11, found), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_is_named) {
  auto options = tiny_engine();
  options.swap.directory = "/nonexistent/folder";
  BOOST_CHECK_EXCEPTION(engine(golden_model("llama_default"), options), std::system_error, [](const auto& e) {
    return std::string_view(e.what()).starts_with("no file for what is swapped out can be made in /nonexistent/folder");
  });
  options.swap.directory = folder;
  options.swap.file_bytes = -1;
  BOOST_CHECK_THROW(engine(golden_model("llama_default"), options), std::invalid_argument);
}

BOOST_DATA_TEST_CASE(what_has_no_room_in_memory_goes_to_the_file_and_both_come_back, data::make(devices), device) {
  const auto snapshot_size = snapshot_bytes(device);
  BOOST_TEST(snapshot_size > 0);
  for (const auto& [in_memory, in_file] : {std::pair{std::int64_t{0}, 2 * snapshot_size},
                                           {snapshot_size, snapshot_size},
                                           {2 * snapshot_size, std::int64_t{0}}}) {
    two_preempted p(device, in_memory, 1 << 30);
    p.suspend();
    BOOST_TEST(bytes_on(nameless_files().at(0)) == in_file);
    BOOST_TEST(p.check() == 6u);
    BOOST_TEST(p.log == "");
    BOOST_TEST(p.running->stats().swapped_out == 4u);
  }
}

BOOST_DATA_TEST_CASE(the_file_is_gone_with_the_engine, data::make(devices), device) {
  {
    two_preempted p(device, 0);
    p.suspend();
    BOOST_TEST(nameless_files().size() == 1u);
  }
  BOOST_TEST(nameless_files().empty());
}

BOOST_DATA_TEST_CASE(what_has_changed_in_the_file_is_recomputed_and_nothing_else, data::make(devices), device) {
  two_preempted p(device, 0);
  p.suspend();
  const int descriptor = nameless_files().at(0);
  const char other = 0x55;
  BOOST_TEST_REQUIRE(::pwrite(descriptor, &other, 1, 17) == 1);
  BOOST_TEST(p.check() == two_preempted::tokens + 3u - 1u + 3u);
  BOOST_TEST(p.log.find("what was swapped out to a file has changed there") != std::string::npos, p.log);
}

BOOST_DATA_TEST_CASE(what_cannot_be_read_is_run_again, data::make(devices), device) {
  two_preempted p(device, 0);
  p.suspend();
  BOOST_TEST_REQUIRE(::ftruncate(nameless_files().at(0), 10) == 0);
  p.check();
  BOOST_TEST(p.log.find("ends too early") != std::string::npos, p.log);
}

BOOST_DATA_TEST_CASE(what_cannot_be_written_is_run_again, data::make(devices), device) {
  two_preempted p(device, 0);
  p.start();
  {
    const auto previous = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit lower{1000, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lower);
    p.suspend();
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, previous);
  }
  p.check();
  BOOST_TEST(p.log.find("what is swapped out cannot be written") != std::string::npos, p.log);
}

BOOST_DATA_TEST_CASE(what_has_no_gap_in_the_file_is_run_again, data::make(devices), device) {
  const auto snapshot_size = snapshot_bytes(device);
  two_preempted p(device, snapshot_size / 2, 2 * snapshot_size - 1);
  p.suspend();
  p.check();
  BOOST_TEST(p.log.find("has no gap for it") != std::string::npos, p.log);
}

}  // namespace cogen::test
