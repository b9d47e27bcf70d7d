// Loops over forward() of a model on a device say what its engines say, bit for bit.
#include "../engine/model_engines.hpp"
#include "../engine/plain_codec.hpp"
#include "../repetitions.hpp"
#include "device_models.hpp"
#include "plain_backend.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <ostream>
#include <span>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

using rows = std::vector<std::vector<float>>;

struct memory_kind {
  std::string golden;
  std::string name;
  std::function<void(engine_options&)> set = [](engine_options&) {};
  bool recurrent = false;
};

std::ostream& operator<<(std::ostream& out, const memory_kind& kind) { return out << kind.golden << ' ' << kind.name; }

cache::quantization with_small_residual(cache::quantization scheme) {
  scheme.residual = 8;
  return scheme;
}

const std::vector<memory_kind> memory_kinds{
    {"llama_default", "plain"},
    {"llama_default", "fp8", [](auto& o) { o.kv.dtype = cache::scalar::fp8; }},
    {"llama_default", "int8", [](auto& o) { o.kv.quantization = with_small_residual(cache::int8()); }},
    {"llama_default", "kivi2", [](auto& o) { o.kv.quantization = with_small_residual(cache::kivi2()); }},
    {"llama_default", "sinks", [](auto& o) { o.kv.sinks = {.sinks = 4, .window = 12}; }},
    {"llama_default", "offloaded", [](auto& o) { o.kv.offload = true; }},
    {"mistral_window", "window"},
    {"gemma3_text", "windows and full attention"},
    {"phi3_long", "plain"},
    {"mamba_tiny", "states", [](auto&) {}, true},
    {"jamba_tiny", "states and tokens", [](auto&) {}, true},
    {"jamba_tiny", "states and int8", [](auto& o) { o.kv.quantization = with_small_residual(cache::int8()); }, true},
    {"lfm2_published", "states and tokens", [](auto&) {}, true},
    {"qwen3_5_typed", "states and tokens", [](auto&) {}, true},
    {"mamba2_published", "states", [](auto&) {}, true},
    {"granite4_published", "states and tokens", [](auto&) {}, true},
    {"rwkv_wide", "states", [](auto&) {}, true},
    {"falcon_h1_scaled", "states and tokens", [](auto&) {}, true},
    {"jamba_dense", "states and a ring", [](auto& o) { o.kv.sinks = {.sinks = 0, .window = 20}; }, true},
    {"bart_tiny", "plain"},
    {"bart_tiny", "int8", [](auto& o) { o.kv.quantization = with_small_residual(cache::int8()); }},
    {"bart_tiny", "sinks", [](auto& o) { o.kv.sinks = {.sinks = 4, .window = 12}; }},
};

engine_options options_of(const memory_kind& kind, const model& model) {
  auto options = tiny_engine(model);
  kind.set(options);
  options.kv.prefix_caching = !kind.recurrent;  // which cuts prompts where their states are kept
  return options;
}

cache::cache cache_for(const model& model, const engine_options& options, int slots) {
  return model.make_cache({.type = *options.kv.dtype,
                           .slots = slots,
                           .max_sequence_length = *options.limits.max_sequence_length,
                           .kv_quantization = options.kv.quantization,
                           .sinks = options.kv.sinks,
                           .kv_offload = options.kv.offload ? std::make_shared<cache::immediate_transfer>() : nullptr,
                           .max_step_tokens = *options.batching.max_batched_tokens,
                           .max_rollback_tokens = options.kv.max_rollback_tokens,
                           .max_encoder_length = 96});
}

rows rows_of(const matrix_view& logits) {
  rows result;
  for (std::int64_t row = 0; row < logits.rows; ++row) result.emplace_back(logits[row].begin(), logits[row].end());
  return result;
}

rows rows_of(const logits& some) {
  rows result;
  for (int row = 0; row < some.rows(); ++row) result.emplace_back(some[row].begin(), some[row].end());
  return result;
}

/// A loop in one slot, which asks for all logits of its tokens.
class hand_written_loop {
 public:
  hand_written_loop(const model& model, cache::cache& cache, int slot = 0)
      : model_(model), cache_(cache), slot_(slot), workspace_(1) {}

  /// Its slot has what the model reads beside the tokens, if that is anything.
  void begin() {
    const auto input = source_for(model_);
    if (input.empty()) return;
    const cache::step step({{.slot = slot_, .count = static_cast<int>(input.size())}});
    model_.encode({.step = step, .tokens = input}, cache_, workspace_);
  }

  /// Its slot holds this prompt and nothing else.
  void begin_again(std::span<const token> prompt) {
    cache_.clear(slot_);
    begin();
    read(prompt);
  }

  rows read(std::span<const token> tokens) {
    const int count = static_cast<int>(tokens.size());
    std::vector<int> outputs(tokens.size());
    for (int i = 0; i < count; ++i) outputs[static_cast<std::size_t>(i)] = i;
    const cache::step step({{.slot = slot_, .count = count}});
    return rows_of(model_.forward({.step = step, .tokens = tokens, .outputs = outputs}, cache_, workspace_));
  }

  /// In forwards of at most `longest` tokens, as an engine cuts a prompt into steps, the first of which reads the
  /// encoder input, too: the bits of LibTorch's products depend on the number of rows.
  rows read(std::span<const token> tokens, int longest) {
    rows result;
    auto count = static_cast<std::size_t>(std::max(1, longest - cache_.encoder_length(slot_)));
    for (; !tokens.empty(); count = static_cast<std::size_t>(longest)) {
      count = std::min(count, tokens.size());
      std::ranges::move(read(tokens.first(count)), std::back_inserter(result));
      tokens = tokens.subspan(count);
    }
    return result;
  }

 private:
  const model& model_;
  cache::cache& cache_;
  const int slot_;
  workspace workspace_;
};

std::string why_not(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(device_forward)

BOOST_DATA_TEST_CASE(a_loop_says_what_an_engine_says, data::make(memory_kinds), kind) {
  const auto model = golden_model(kind.golden, "reference");
  const auto options = options_of(kind, *model);
  const auto prompt = some_tokens(*model, 76, 1);
  std::vector<rows> expected;
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = open(running, *model);
    const auto say = [&](std::vector<token> tokens) -> net::awaitable<void> {
      expected.push_back(rows_of(co_await sequence.async_forward(std::move(tokens), logits_of::all)));
    };
    co_await say(prompt);
    for (token next = 20; next < 26; ++next) co_await say({next});
    auto other = sequence.fork();
    expected.push_back(rows_of(co_await other.async_forward({7, 8, 9}, logits_of::all)));
    co_await say({11});
    if (!kind.recurrent) sequence.truncate(80);
    co_await say({12, 13});
  });

  auto cache = cache_for(*model, options, 2);
  hand_written_loop loop(*model, cache), fork(*model, cache, 1);
  loop.begin();
  std::vector<rows> said{loop.read(prompt, *options.batching.max_batched_tokens)};
  for (token next = 20; next < 26; ++next) said.push_back(loop.read(std::vector<token>{next}));
  cache.fork({.slot = 1, .source = 0, .end = cache.length(0)});
  said.push_back(fork.read(std::vector<token>{7, 8, 9}));
  said.push_back(loop.read(std::vector<token>{11}));
  BOOST_TEST(cache.can_truncate(0, 80) == !kind.recurrent);
  if (!kind.recurrent) cache.truncate(0, 80);
  said.push_back(loop.read(std::vector<token>{12, 13}));

  BOOST_TEST(cache.length(0) == (kind.recurrent ? 85 : 82));
  BOOST_TEST(cache.length(1) == 85);
  BOOST_REQUIRE_EQUAL(said.size(), expected.size());
  for (std::size_t i = 0; i < said.size(); ++i) BOOST_TEST((said[i] == expected[i]), "forward " << i);
}

BOOST_DATA_TEST_CASE(a_slot_goes_on_in_another_cache, data::make(memory_kinds), kind) {
  const auto model = golden_model(kind.golden, "reference");
  const auto options = options_of(kind, *model);
  auto cache = cache_for(*model, options, 1), other = cache_for(*model, options, 2);
  hand_written_loop loop(*model, cache), there(*model, other, 1);
  loop.begin();
  loop.read(some_tokens(*model, kind.recurrent ? 86 : 90, 4));
  cache.truncate(0, 86);

  const int input = cache.encoder_length(0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(86, input)));
  cache.export_slot(0, bytes);
  other.import_slot(1, 86, bytes, input);
  BOOST_TEST((there.read(std::vector<token>{1, 2}) == loop.read(std::vector<token>{1, 2})));
  BOOST_TEST(other.can_truncate(1, 84) == cache.can_truncate(0, 84));
  BOOST_TEST(cache.can_truncate(0, 84) == !kind.recurrent);
  if (!kind.recurrent) cache.truncate(0, 84), other.truncate(1, 84);
  BOOST_TEST((there.read(std::vector<token>{3}) == loop.read(std::vector<token>{3})));
  if (cache.max_rollback_tokens() <= 8) BOOST_TEST(!other.can_truncate(1, 81));

  BOOST_CHECK_THROW(other.import_slot(0, 86, std::span(bytes).first(bytes.size() - 1), input), std::invalid_argument);
  BOOST_TEST(other.length(0) == 0);
}

BOOST_DATA_TEST_CASE(slots_return_to_their_snapshots, data::make(memory_kinds), kind) {
  const auto model = golden_model(kind.golden, "reference");
  const auto options = options_of(kind, *model);
  auto cache = cache_for(*model, options, 2);
  hand_written_loop loop(*model, cache), fork(*model, cache, 1);
  loop.begin();
  loop.read(some_tokens(*model, 40, 5));
  cache.take_checkpoint(0);
  const auto first = loop.read(some_tokens(*model, 50, 6));
  cache.fork({.slot = 1, .source = 0, .end = 40});
  BOOST_TEST((fork.read(some_tokens(*model, 50, 6)) == first));
  cache.truncate(0, 40);
  BOOST_TEST((loop.read(some_tokens(*model, 50, 6)) == first));
  cache.drop_checkpoint(0, 40);
  BOOST_TEST(cache.can_truncate(0, 40) == (cache.max_rollback_tokens() > 50));
  cache.clear(0);
  loop.begin();
  loop.read(some_tokens(*model, 40, 5));
  BOOST_TEST((loop.read(some_tokens(*model, 50, 6)) == first));
}

BOOST_AUTO_TEST_CASE(a_batch_has_the_logits_that_it_asks_for_in_its_order) {
  const auto model = golden_model("llama_default", "reference");
  const auto options = tiny_engine(*model);
  auto cache = cache_for(*model, options, 4);
  const std::vector<token> tokens{5, 6, 7, 8, 9, 10, 11, 12};
  const cache::step step(
      {{.slot = 2, .count = 3}, {.slot = 0, .count = 1}, {.slot = 3, .count = 3}, {.slot = 1, .count = 1}});
  const std::vector<int> outputs{1, 2, 3, 6, 7};
  workspace workspace(1);
  const auto said = rows_of(model->forward({.step = step, .tokens = tokens, .outputs = outputs}, cache, workspace));

  const auto after = [&](std::vector<token> held) {
    auto own = cache_for(*model, options, 1);
    return hand_written_loop(*model, own).read(held).back();
  };
  const rows expected{after({5, 6}), after({5, 6, 7}), after({8}), after({9, 10, 11}), after({12})};
  BOOST_REQUIRE_EQUAL(said.size(), expected.size());
  for (std::size_t row = 0; row < said.size(); ++row)
    for (std::size_t i = 0; i < said[row].size(); ++i)
      BOOST_TEST(std::abs(said[row][i] - expected[row][i]) < 1e-4F, "row " << row << ", token " << i);
  BOOST_TEST(workspace.bytes() > 0);
}

BOOST_AUTO_TEST_CASE(loops_over_two_caches_take_turns) {
  const auto model = golden_model("llama_default", "reference");
  const auto options = tiny_engine(*model);
  auto first = cache_for(*model, options, 1), other = cache_for(*model, options, 3),
       alone = cache_for(*model, options, 1);
  const auto say = [&](token next, cache::cache& cache) { return model->forward({&next, 1}, cache); };
  rows said, expected;
  for (token next = 0; next < 5; ++next) {
    said.push_back(say(next, first));
    say(40 + next, other);
  }
  for (token next = 0; next < 5; ++next) expected.push_back(say(next, alone));
  BOOST_TEST((said == expected));
}

BOOST_AUTO_TEST_CASE(a_workspace_serves_models_on_different_devices) {
  const auto here = golden_model("llama_default"), there = golden_model("llama_default", "reference");
  const auto longer = golden_model("llama_llama3", "reference");
  workspace workspace(1);
  const auto options = tiny_engine();
  const std::vector<token> tokens{1, 2, 3};
  const int last = 2;
  const auto after = [&](const model& model, cogen::workspace& with) {
    auto cache = cache_for(model, options, 1);
    const cache::step step({{.slot = 0, .count = 3}});
    return rows_of(model.forward({.step = step, .tokens = tokens, .outputs = {&last, 1}}, cache, with));
  };
  for (const auto& model : {here, there, longer, here, there}) {
    cogen::workspace own(1);
    BOOST_TEST((after(*model, workspace) == after(*model, own)));
  }
}

BOOST_AUTO_TEST_CASE(a_table_of_positions_ends_whatever_a_cache_forgets) {
  const std::vector<token> tokens(65, 3);
  for (const auto* device : {"cpu", "reference"}) {
    const auto model = golden_model("gpt2_published", device);
    auto cache = model->make_cache({.max_sequence_length = 128, .sinks = cache::sink_window{.sinks = 4, .window = 12}});
    BOOST_TEST(model->config().max_positions == 64);
    BOOST_TEST(model->max_sequence_length(cache) == 64);
    BOOST_CHECK_THROW(model->forward(tokens, cache), std::length_error);
    BOOST_TEST(cache.length(0) == 0);
    BOOST_CHECK_NO_THROW(model->forward(std::span(tokens).first(64), cache));
    BOOST_CHECK_THROW(model->forward(std::span(tokens).first(1), cache), std::length_error);
    BOOST_TEST(cache.length(0) == 64);
  }
}

BOOST_AUTO_TEST_CASE(a_cache_that_is_elsewhere_is_refused) {
  const auto here = golden_model("llama_default"), there = golden_model("llama_default", "reference");
  auto of_host = here->make_cache({.max_sequence_length = 64}),
       of_device = there->make_cache({.max_sequence_length = 64});
  const std::vector<token> tokens{1, 2};
  BOOST_TEST(why_not([&] { there->forward(tokens, of_host); }) ==
             "the model is on reference and the cache is not; the model's make_cache() makes one there");
  BOOST_TEST(why_not([&] { here->forward(tokens, of_device); }) ==
             "cache: it is on reference, and takes tokens from forward() of a model there alone");
  auto elsewhere = golden_model_on(std::make_shared<plain_backend>(), "llama_default")
                       ->make_cache({.type = cache::scalar::f32, .max_sequence_length = 64});
  BOOST_TEST(
      why_not([&] { there->forward(tokens, elsewhere); }).starts_with("the model is on reference and the cache"));
  for (const auto* cache : {&of_host, &of_device, &elsewhere}) BOOST_TEST(cache->length(0) == 0);

  workspace int8(1, compute_type::int8);
  const cache::step step({{.slot = 0, .count = 2}});
  BOOST_TEST(why_not([&] { there->forward({.step = step, .tokens = tokens, .outputs = {}}, of_device, int8); }) ==
             "the workspace's compute type is int8; models on reference compute in float32 alone");
}

BOOST_AUTO_TEST_CASE(what_a_cache_on_a_device_lacks_is_refused_by_name) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");  // on "cpu"
  const auto offload = std::make_shared<cache::immediate_transfer>();
  const auto codec = std::make_shared<plain_codec>();
  const auto refused = [&](cache::options options, const cache::layer_factory& own = {}) {
    return why_not([&] { model->make_cache(options, own); });
  };
  const auto in = [](cache::options options) {
    options.type = cache::scalar::f32;
    if (options.max_sequence_length == 0) options.max_sequence_length = 128;
    return options;
  };
  BOOST_TEST(refused(in({}), [](auto&&...) { return nullptr; }) ==
             "cache: layers of your own are in host memory; caches on cpu have none");
  const auto recurrent = golden_model_on(std::make_shared<plain_backend>(), "mamba_tiny");
  BOOST_TEST(why_not([&] { recurrent->make_cache({.type = cache::scalar::f32}); }) == "");
  BOOST_TEST(why_not([&] { recurrent->make_cache(in({.kv_offload = offload})); }) ==
             "cache: kv_offload is set; caches on cpu keep states there");
  BOOST_TEST(refused({.max_sequence_length = 64}) ==
             "cache: type is BFloat16; caches on cpu keep Float or Float8_e4m3fn");
  BOOST_TEST(refused({.kind = cache::cache_kind::dynamic, .type = cache::scalar::f32}) ==
             "cache: max_sequence_length is 0; caches on cpu take all of their memory at once, and need a bound");
  BOOST_TEST(refused(in({.kv_quantization = cache::quantization{codec, codec}})) ==
             "cache: kv_quantization has keys plain and values plain; caches on cpu have no codecs of your own");
  BOOST_TEST(refused({.type = cache::scalar::fp8, .max_sequence_length = 64, .kv_quantization = cache::int8()}) ==
             "cache: kv_quantization and a type of fp8 are both set; quantized caches on cpu keep their newest tokens "
             "in the model's own type");
  BOOST_TEST(refused(in({.kv_quantization = cache::int8(), .kv_offload = offload})) ==
             "cache: kv_offload and kv_quantization are both set; caches on cpu offload what keeps every token in "
             "full precision");
  BOOST_TEST(why_not([] {
               const auto mixed = golden_model("gemma3_text", "reference");
               mixed->make_cache({.max_sequence_length = 64, .sinks = cache::sink_window{.sinks = 4, .window = 40}});
             }) == "cache: sinks are set; caches on reference have them where all layers have the same window");
  for (const auto& allowed : {in({}), in({.kv_quantization = cache::int8()}), in({.kv_offload = offload}),
                              cache::options{.type = cache::scalar::f32, .sinks = cache::sink_window()}})
    BOOST_TEST(refused(allowed) == "");
}

/// Makes the backend throw at the call after `count` others, and at `failures` calls in all.
void fail_after(plain_backend& where, int count, int failures = 1) {
  where.hook = [count, failures](const char* operation) mutable {
    if (count-- <= 0 && failures-- > 0) throw std::runtime_error(std::string("no more: ") + operation);
  };
}

/// Runs until the backend no longer fails at the call after `count` others, for each count. Returns how often it did.
int fail_at_each_call(plain_backend& where, int failures, const std::function<void()>& run,
                      const std::function<void(bool failed)>& then) {
  for (int count = 0;; ++count) {
    fail_after(where, count, failures);
    bool failed = false;
    try {
      run();
    } catch (const std::runtime_error&) {
      failed = true;
    }
    where.hook = {};
    then(failed);
    if (!failed) return count;
  }
}

bool runs_on_any_device(const memory_kind& kind) { return kind.golden != "gemma3_text" && kind.golden != "phi3_long"; }

/// Under a sanitizer some.
std::vector<memory_kind> failing_kinds() {
  return thin(std::vector(std::begin(memory_kinds), std::end(memory_kinds)), 2);
}

BOOST_DATA_TEST_CASE(a_failing_device_leaves_slots_as_they_were, data::make(failing_kinds()), kind) {
  if (!runs_on_any_device(kind)) return;
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, kind.golden);
  const auto options = options_of(kind, *model);
  const auto prompt = some_tokens(*model, 50, 1);
  const auto more = some_tokens(*model, 40, 2);
  auto cache = cache_for(*model, options, 2);
  hand_written_loop loop(*model, cache), fork(*model, cache, 1);
  loop.begin();
  loop.read(prompt);
  const auto expected = loop.read(more);
  const auto begin_again = [&] { loop.begin_again(prompt); };
  begin_again();
  const auto failures = fail_at_each_call(
      *where, 1, [&] { loop.read(more); },
      [&](bool failed) {
        if (!failed) return;
        BOOST_TEST(cache.length(0) == 50);
        fail_after(*where, 0);
        BOOST_CHECK_THROW(cache.fork({.slot = 1, .source = 0, .end = 50}), std::runtime_error);
        where->hook = {};
        BOOST_TEST(cache.length(1) == 0);
        cache.fork({.slot = 1, .source = 0, .end = 50});
        BOOST_TEST((fork.read(more) == expected));
        cache.clear(1);
        BOOST_TEST((loop.read(more) == expected));
        begin_again();
      });
  BOOST_TEST(failures > 0);
}

BOOST_AUTO_TEST_CASE(a_batch_that_gets_no_memory_is_not_what_the_next_one_needs) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  auto cache = cache_for(*model, options_of(memory_kinds[0], *model), 1);
  workspace space(1), other(1);
  const auto read = [&](workspace& used, int count) {
    const cache::step step({{.slot = 0, .count = count}});
    const std::vector<int> outputs{count - 1};
    cache.clear(0);
    return rows_of(
        model->forward({.step = step, .tokens = some_tokens(*model, count, 1), .outputs = outputs}, cache, used));
  };
  const auto expected = read(other, 2);
  where->hook = [](const std::string& operation) {
    if (operation == "host memory") throw std::runtime_error("no more");
  };
  BOOST_CHECK_THROW(read(space, 60), std::runtime_error);
  where->hook = {};
  BOOST_TEST((read(space, 2) == expected));
  BOOST_TEST(space.bytes() == other.bytes());
}

BOOST_DATA_TEST_CASE(a_device_that_fails_twice_leaves_slots_as_they_were_or_empty, data::make(failing_kinds()), kind) {
  if (!runs_on_any_device(kind)) return;
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, kind.golden);
  const auto options = options_of(kind, *model);
  if (options.kv.offload) return;  // its second failure comes with the next step
  const auto prompt = some_tokens(*model, 50, 1);
  const auto more = some_tokens(*model, 40, 2);
  auto cache = cache_for(*model, options, 1);
  hand_written_loop loop(*model, cache);
  loop.begin();
  loop.read(prompt);
  const auto expected = loop.read(more);
  const auto begin_again = [&] { loop.begin_again(prompt); };
  begin_again();
  const auto failures = fail_at_each_call(
      *where, 2, [&] { loop.read(more); },
      [&](bool failed) {
        if (!failed) return;
        const bool in_parts = cache.max_step_tokens() < 40;
        BOOST_TEST((cache.length(0) == 50 || (in_parts && cache.length(0) == 0)));
        if (cache.length(0) == 0) begin_again();
        BOOST_TEST((loop.read(more) == expected));
        begin_again();
      });
  BOOST_TEST(failures > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
