// Requests begin with what others have had run of their tokens, and say the same bits.
#include "kept_engines.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

constexpr int common = 77;
constexpr int answer = 12;

/// Prompts that share their first tokens, and how an engine answers them.
class alike {
 public:
  alike(const kept_engine& kind, std::shared_ptr<const model> model, const engine_options& options)
      : model_(std::move(model)),
        on_device_(kind.device == "cpu" ? nullptr : kind.model()),
        options_(options),
        running_(kind.model(), options),
        begin_(some_tokens(*model_, common, 5)) {
    BOOST_TEST_MESSAGE("over " << kind);
  }

  std::vector<token> prompt(int own) const {
    return joined(begin_, some_tokens(*model_, 9, 100 + static_cast<unsigned>(own)));
  }

  /// All of them at once. Their answers are checked; what they found in the engine is added up.
  int ask(const std::vector<std::vector<token>>& prompts) {
    net::io_context context;
    std::vector<token_stream> streams;
    std::vector<std::optional<completion>> received(prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      streams.push_back(running_.generate({.prompt = token_ids(prompts[i]), .max_tokens = answer, .ignore_eos = true}));
      streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
        BOOST_TEST(!code);
        received[i] = std::move(whole);
      }));
    }
    settle(running_, context);
    int cached = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      BOOST_REQUIRE(received[i]);
      check(received[i]->tokens, prompts[i]);
      cached += received[i]->usage.cached_tokens;
    }
    return cached;
  }

  /// What quantized caches of a device say is not always what those of the CPU say, but always the same.
  std::vector<token> alone(const std::vector<token>& prompt) const {
    if (!on_device_) return loop_by_hand(*model_, options_, prompt, answer);
    auto options = options_;
    options.kv.prefix_caching = false;
    engine other(on_device_, options);
    std::vector<token> ids;
    drive(other, [&]() -> net::awaitable<void> {
      auto seq = other.open();
      auto fed = prompt;
      while (std::ssize(ids) < answer) {
        ids.push_back((co_await seq.async_decode(fed)).id);
        fed.clear();
      }
    });
    return ids;
  }

  const engine& running() const { return running_; }

 private:
  void check(const std::vector<sampled_token>& said, const std::vector<token>& prompt) const {
    std::vector<token> ids;
    for (const auto& choice : said) ids.push_back(choice.id);
    BOOST_TEST(ids == alone(prompt), boost::test_tools::per_element());
  }

  std::shared_ptr<const model> model_;
  std::shared_ptr<const model> on_device_;  // null on the CPU
  engine_options options_;
  engine running_;
  std::vector<token> begin_;
};

BOOST_AUTO_TEST_SUITE(prefix_caching)

BOOST_DATA_TEST_CASE(one_after_another_they_say_what_they_say_alone, data::make(kept_engines_everywhere()), each) {
  const auto model = golden_model(each.golden);
  if (model->has_encoder()) return;  // beside encoder inputs nothing is shared
  auto options = each.options();
  options.batching.slots = 3;
  alike family(each, model, options);
  BOOST_TEST(family.ask({family.prompt(1)}) == 0);
  family.ask({family.prompt(2)});  // what cannot go back is kept from here on where the two part
  for (int i = 3; i < 8; ++i) BOOST_TEST(family.ask({family.prompt(i)}) == common);
  BOOST_TEST(family.running().stats().free_slots == options.batching.slots);
  BOOST_TEST(family.running().stats().prefix_cached_slots > 0);
  BOOST_TEST(family.running().stats().cache_bytes < family.running().stats().peak_cache_bytes);
}

/// Where spare slots keep what is shared: devices have none.
BOOST_DATA_TEST_CASE(together_they_run_their_first_tokens_once, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  if (model->has_encoder()) return;
  alike family(each, model, each.options());
  std::vector<std::vector<token>> prompts;
  for (int i = 1; i <= 9; ++i) prompts.push_back(family.prompt(i));
  BOOST_TEST(family.ask(prompts) == 8 * common);
  BOOST_TEST(family.running().stats().tokens == common + 9 * (9 + answer - 1));
  BOOST_TEST(family.running().stats().prefix_hit_tokens == 8 * common);
}

BOOST_DATA_TEST_CASE(a_conversation_goes_on_where_it_ended, data::make(kept_engines_everywhere()), each) {
  const auto model = golden_model(each.golden);
  if (model->has_encoder()) return;
  auto options = each.options();
  alike family(each, model, options);
  auto said = family.prompt(1);
  BOOST_TEST(family.ask({said}) == 0);
  for (int turn = 0; turn < 3; ++turn) {
    const auto received = family.alone(said);
    const auto held = static_cast<int>(said.size()) + answer - 1;  // the last token was sampled and not run
    said = joined(joined(said, received), some_tokens(*model, 6, 200 + static_cast<unsigned>(turn)));
    BOOST_TEST(family.ask({said}) == held);
  }
}

BOOST_DATA_TEST_CASE(a_prompt_that_comes_again_runs_its_last_token, data::make(kept_engines_everywhere()), each) {
  const auto model = golden_model(each.golden);
  if (model->has_encoder()) return;
  alike family(each, model, each.options());
  BOOST_TEST(family.ask({family.prompt(1)}) == 0);
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(family.ask({family.prompt(1)}) == static_cast<int>(family.prompt(1).size()) - 1);
}

/// Tokens run when a sequence of `first` has gone and one of `second` feeds the same.
std::uint64_t run_by_the_second(const open_options& first, const open_options& second) {
  const auto model = golden_model("llama_default");
  engine running(model, tiny_engine(*model));
  const auto tokens = some_tokens(*model, common, 5);
  std::uint64_t previous_tokens = 0;
  drive(running, [&]() -> net::awaitable<void> {
    for (const auto& each : {first, second}) {
      previous_tokens = running.stats().tokens;
      auto place = running.open(each);
      co_await place.async_forward(tokens);
    }
  });
  return running.stats().tokens - previous_tokens;
}

BOOST_AUTO_TEST_CASE(sequences_share_prefixes_if_their_options_allow_it) {
  BOOST_TEST(run_by_the_second({}, {}) == 1u);
  BOOST_TEST(run_by_the_second({.tenant = 3}, {.tenant = 3}) == 1u);
  BOOST_TEST(run_by_the_second({.tenant = 3, .cache_salt = "9"}, {.tenant = 4, .cache_salt = "9"}) == 1u);
  BOOST_TEST(run_by_the_second({.tenant = 3}, {.tenant = 4}) == unsigned{common});
  BOOST_TEST(run_by_the_second({.cache_salt = "1"}, {.cache_salt = "2"}) == unsigned{common});
  BOOST_TEST(run_by_the_second({.tenant = 9}, {.cache_salt = "9"}) == unsigned{common});
  BOOST_TEST(run_by_the_second({.tenant = 9}, {.tenant = 9, .cache_salt = ""}) == unsigned{common});
  BOOST_TEST(run_by_the_second({.prefix_caching = false}, {}) == unsigned{common});
  BOOST_TEST(run_by_the_second({}, {.prefix_caching = false}) == unsigned{common});
}

/// What the second tenant can observe of its own requests: the tokens found for each, those run, and the steps.
std::vector<std::uint64_t> seen_by_the_second(bool first_asks_the_same) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.external_stepping = true;
  engine running(model, options);
  const auto text = some_tokens(*model, common, 5);
  const auto asked_before = first_asks_the_same ? text : some_tokens(*model, common, 6);
  const std::optional<std::string> salts[] = {{}, "1", "1:", "salt", ""};
  std::vector<std::uint64_t> seen;
  net::io_context context;
  const auto ask = [&](std::uint64_t tenant, token_ids tokens, const std::optional<std::string>& salt) {
    auto stream = running.generate(
        {.prompt = std::move(tokens), .max_tokens = 2, .ignore_eos = true, .tenant = tenant, .cache_salt = salt});
    completion whole;
    stream.async_complete(net::bind_executor(context, [&](error_code code, completion found) {
      BOOST_TEST(!code);
      whole = std::move(found);
    }));
    settle(running, context);
    return whole.usage.cached_tokens;
  };
  for (const auto& salt : salts)
    for (const std::ptrdiff_t length : {20, common, common / 2}) {
      ask(1, {asked_before.begin(), asked_before.begin() + length}, salt ? std::optional("1:" + *salt) : salt);
      const auto previous = running.stats();
      const auto cached = ask(2, {text.begin(), text.begin() + length}, salt ? std::optional("2:" + *salt) : salt);
      seen.push_back(static_cast<std::uint64_t>(cached));
      const auto after = running.stats();
      seen.push_back(after.tokens - previous.tokens);
      seen.push_back(after.steps - previous.steps);
    }
  return seen;
}

BOOST_AUTO_TEST_CASE(a_tenant_sees_nothing_of_what_another_one_asks) {
  const auto seen = seen_by_the_second(true);
  BOOST_TEST(seen == seen_by_the_second(false), boost::test_tools::per_element());
  BOOST_TEST(seen.at(0) == 0u);
}

BOOST_AUTO_TEST_CASE(a_prefix_cache_that_is_dropped_has_nothing_to_share) {
  const auto model = golden_model("llama_default");
  engine running(model, tiny_engine(*model));
  const auto tokens = some_tokens(*model, common, 5);
  std::vector<std::uint64_t> run;
  drive(running, [&]() -> net::awaitable<void> {
    for (const bool drops : {false, false, true, false}) {
      if (drops) running.drop_prefix_cache();
      const auto previous_tokens = running.stats().tokens;
      auto place = running.open();
      co_await place.async_forward(tokens);
      run.push_back(running.stats().tokens - previous_tokens);
    }
  });
  BOOST_TEST(run == (std::vector<std::uint64_t>{common, 1, common, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_salt_that_is_too_long_is_refused) {
  const auto model = golden_model("llama_default");
  engine running(model, tiny_engine(*model));
  const std::string longest(request::max_cache_salt_bytes, 'x');
  net::io_context context;
  auto taken = running.generate({.prompt = token_ids{1, 2}, .max_tokens = 1, .cache_salt = longest});
  const auto refused = running.generate({.prompt = token_ids{1, 2}, .max_tokens = 1, .cache_salt = longest + "x"});
  BOOST_TEST(!taken.error());
  BOOST_TEST(refused.error().message().find("cache_salt has 1025 bytes; it may have 1024") != std::string::npos);
  BOOST_CHECK_THROW(static_cast<void>(running.open({.cache_salt = longest + "x"})), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
