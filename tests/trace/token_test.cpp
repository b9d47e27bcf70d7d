// The way of a token through an engine on a CPU, from generate() to the coroutine that reads it.
#include "architecture_page.hpp"
#include "call_recorder.hpp"
#include "engine/model_engines.hpp"
#include "engine/parts/make_parts.hpp"
#include "test_data.hpp"
#include "text/small_tokenizer.hpp"
#include "token_way.hpp"

#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace cogen::trace {
namespace {

const std::filesystem::path repository = test::test_data().parent_path();

constexpr std::size_t max_places = 18;
constexpr std::size_t max_upward_calls = 3;

/// A model of the family of Llama whose tokens are bytes, with a chat template whose answers begin with reasoning.
engine chatting_engine() {
  auto options = test::tiny_engine();
  auto parts = detail::make_parts(test::golden_model("llama_default"), options);
  const std::string chat_template = "{# </think> #}{{ messages[0].content }}:<think>";
  auto spec = small_spec({});
  spec.chat_template = chat_template;
  parts.tokenizer = std::make_shared<const text::tokenizer>(std::move(spec));
  parts.chat = std::make_shared<const text::chat_template>(chat_template);
  return engine(std::move(parts), std::move(options));
}

/// Each token is a letter, so that each is a piece, and is drawn from several.
request wanted_chat() {
  request result{.prompt = chat("Hi"), .max_tokens = 20, .sampling = {.temperature = 1, .top_p = 0.9, .seed = 1}};
  for (const char letter : {'a', 'b', 'c'}) result.sampling.logit_bias[letter] = 50;
  return result;
}

/// An engine, and a coroutine that reads one of its streams piece by piece, on one thread.
class reading {
 public:
  void generate() {
    net::co_spawn(context_, read(engine_.generate(wanted_chat())), net::detached);
    context_.poll();
  }

  /// Goes on until the coroutine has got another piece.
  void receive_piece() {
    const int wanted = pieces_ + 1;
    for (int round = 0; pieces_ < wanted && round < 20; ++round) {
      engine_.poll_one();
      context_.restart();
      context_.poll();
    }
    BOOST_TEST_REQUIRE(pieces_ == wanted);
  }

 private:
  net::awaitable<void> read(token_stream stream) {
    while (co_await stream.async_next()) ++pieces_;
  }

  net::io_context context_;
  engine engine_ = chatting_engine();
  int pieces_ = 0;
};

/// From generate() to its first piece.
token_way way_of_first_token() {
  reading reader;
  return token_way(record_calls([&] {
                     reader.generate();
                     reader.receive_piece();
                   }),
                   repository);
}

/// From the plan of a step to its piece, among others like it.
token_way way_of_next_token() {
  reading reader;
  reader.generate();
  for (int i = 0; i < 3; ++i) reader.receive_piece();
  return token_way(record_calls([&] { reader.receive_piece(); }), repository);
}

void print(const token_way& way) {
  for (const auto& place : way.places()) BOOST_TEST_MESSAGE("  " << place.folder << ", first " << place.first_function);
  for (const auto& call : way.upward_calls())
    for (const auto& callee : call.callees)
      BOOST_TEST_MESSAGE("  up from " << call.caller_folder << " to " << call.callee_folder << ": " << callee);
}

std::set<std::string> folders_of(const token_way& way) {
  std::set<std::string> result;
  for (const auto& place : way.places()) result.insert(place.folder);
  return result;
}

std::set<std::pair<std::string, std::string>> upward_folders_of(const token_way& way) {
  std::set<std::pair<std::string, std::string>> result;
  for (const auto& call : way.upward_calls()) result.emplace(call.caller_folder, call.callee_folder);
  return result;
}

std::string name_of(const std::string& folder) { return folder; }
std::string name_of(const std::pair<std::string, std::string>& folders) {
  return "a call from " + folders.first + " up to " + folders.second;
}

template <class Value>
void check_same(const std::set<Value>& passed, const std::set<Value>& documented) {
  for (const auto& each : passed) BOOST_TEST(documented.contains(each), "the page does not have " + name_of(each));
  for (const auto& each : documented) BOOST_TEST(passed.contains(each), "the token does not pass " + name_of(each));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(token_trace)

BOOST_AUTO_TEST_CASE(a_token_passes_few_places_and_few_calls_go_up) {
  const auto way = way_of_next_token();
  print(way);
  const auto places = way.places().size(), upward_calls = way.upward_calls().size();
  BOOST_TEST_MESSAGE("places: " << places << ", at most " << max_places);
  BOOST_TEST_MESSAGE("upward calls: " << upward_calls << ", at most " << max_upward_calls);
  BOOST_TEST(places <= max_places);
  BOOST_TEST(upward_calls <= max_upward_calls);
}

BOOST_AUTO_TEST_CASE(the_page_on_architecture_says_which) {
  const auto way = way_of_next_token();
  const auto page = read_architecture_page(repository);
  check_same(folders_of(way), page.places);
  check_same(upward_folders_of(way), page.upward);
}

BOOST_AUTO_TEST_CASE(the_page_on_architecture_says_what_is_called) {
  const auto first = way_of_first_token(), next = way_of_next_token();
  print(first);
  BOOST_TEST_MESSAGE("from generate() on: " << first.places().size() << " folders");
  const auto functions = read_architecture_page(repository).functions;
  BOOST_TEST(functions.size() > 10u);
  for (const auto& each : functions) BOOST_TEST((first.passes(each) || next.passes(each)), each + " is not passed");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::trace
