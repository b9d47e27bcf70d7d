// Models that read an encoder input: what they refuse, and that an encoder input is read the same in any batch.
#include "../devices.hpp"
#include "histories.hpp"
#include "plain_layer.hpp"
#include "some_models.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

std::shared_ptr<const model> reading_model(const std::string& device) {
  static std::map<std::string, std::shared_ptr<const model>> loaded;
  auto& found = loaded[device];
  if (!found) found = load_model(golden_folder("bart_tiny"), {.threads = 1, .device = device});
  return found;
}

struct reader {
  std::shared_ptr<const cogen::model> model = reading_model("cpu");
  cogen::cache::cache cache = new_cache();
  workspace own{1};

  void use(const std::string& device) {
    model = reading_model(device);
    cache = new_cache();
  }

  cogen::cache::cache new_cache() const {
    return model->make_cache(
        {.type = cogen::cache::scalar::f32, .slots = 3, .max_sequence_length = 32, .max_encoder_length = 40});
  }

  void encode(std::vector<cache::step_row> rows, const std::vector<token>& tokens) {
    model->encode({.step = cache::step(std::move(rows)), .tokens = tokens}, cache, own);
  }

  std::vector<float> first_logits(int slot) {
    const token start = model->config().decoder_start.value();
    const int output = 0;
    const auto logits = model->forward(
        {.step = cache::step({{.slot = slot, .count = 1}}), .tokens = {&start, 1}, .outputs = {&output, 1}}, cache,
        own)[0];
    return {logits.begin(), logits.end()};
  }

  void check_nothing_is_held() {
    for (int slot = 0; slot < cache.slots(); ++slot) {
      BOOST_TEST(cache.encoder_length(slot) == 0);
      BOOST_TEST(cache.length(slot) == 0);
    }
  }
};

auto has_message(const std::string& part) {
  return [part](const std::exception& error) {
    BOOST_TEST_MESSAGE(error.what());
    return std::string(error.what()).find(part) != std::string::npos;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(encoder)

BOOST_DATA_TEST_CASE_F(reader, an_encoder_input_is_the_same_bits_in_any_batch, data::make(devices), device) {
  use(device);
  const auto first = random_tokens(*model, 7, 1), other = random_tokens(*model, 40, 2),
             third = random_tokens(*model, 1, 3);
  encode({{.slot = 1, .count = 7}}, first);
  const auto alone = first_logits(1);
  cache.clear(1);
  std::vector<token> tokens = other;
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.insert(tokens.end(), third.begin(), third.end());
  own = workspace(3);
  encode({{.slot = 2, .count = 40}, {.slot = 0, .count = 7}, {.slot = 1, .count = 1}}, tokens);
  BOOST_TEST((first_logits(0) == alone));
  BOOST_TEST((first_logits(2) != alone));
}

BOOST_DATA_TEST_CASE_F(reader, the_order_and_the_end_of_an_encoder_input_matter, data::make(devices), device) {
  use(device);
  auto encoder_input = random_tokens(*model, 9, 4);
  encode({{.slot = 0, .count = 9}}, encoder_input);
  std::swap(encoder_input[0], encoder_input[8]);
  encode({{.slot = 1, .count = 9}}, encoder_input);
  BOOST_TEST((first_logits(0) != first_logits(1)));
}

BOOST_DATA_TEST_CASE_F(reader, an_encoder_input_stays_until_its_slot_is_cleared, data::make(devices), device) {
  use(device);
  const auto encoder_input = random_tokens(*model, 5, 5);
  encode({{.slot = 0, .count = 5}}, encoder_input);
  const auto first = first_logits(0);
  cache.truncate(0, 0);
  BOOST_TEST(cache.encoder_length(0) == 5);
  BOOST_TEST((first_logits(0) == first));
  cache.clear(0);
  BOOST_TEST(cache.encoder_length(0) == 0);
}

BOOST_DATA_TEST_CASE_F(reader, a_fork_reads_its_encoder_input_when_the_first_is_gone, data::make(devices), device) {
  use(device);
  encode({{.slot = 0, .count = 9}}, random_tokens(*model, 9, 7));
  encode({{.slot = 2, .count = 4}}, random_tokens(*model, 4, 8));
  const auto first = first_logits(0), other = first_logits(2);
  cache.fork({.slot = 1, .source = 0, .end = 0});
  cache.clear(0);
  BOOST_TEST(cache.encoder_length(1) == 9);
  BOOST_TEST((first_logits(1) == first));
  cache.truncate(2, 0);
  BOOST_TEST((first_logits(2) == other));
}

BOOST_DATA_TEST_CASE_F(reader, an_exported_slot_has_its_encoder_input, data::make(devices), device) {
  use(device);
  encode({{.slot = 0, .count = 9}}, random_tokens(*model, 9, 7));
  const auto first = first_logits(0), second = first_logits(0);
  cache.truncate(0, 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(1, 9)));
  cache.export_slot(0, bytes);
  cache.clear(0);
  cache.import_slot(2, 1, bytes, 9);
  BOOST_TEST(cache.encoder_length(2) == 9);
  BOOST_TEST((first_logits(2) == second));
  BOOST_TEST((first != second));
  BOOST_CHECK_THROW(cache.import_slot(0, 1, std::span(bytes).first(bytes.size() - 1), 9), std::invalid_argument);
  BOOST_TEST(cache.encoder_length(0) == 0);
}

BOOST_DATA_TEST_CASE_F(reader, tokens_need_an_encoder_input_first, data::make(devices), device) {
  use(device);
  BOOST_CHECK_EXCEPTION(first_logits(1), std::logic_error, has_message("slot 1 has no encoder input"));
  check_nothing_is_held();
}

BOOST_DATA_TEST_CASE_F(reader, an_encoder_input_comes_once, data::make(devices), device) {
  use(device);
  encode({{.slot = 0, .count = 2}}, {1, 2});
  BOOST_CHECK_THROW(encode({{.slot = 0, .count = 2}}, {1, 2}), std::logic_error);
  BOOST_TEST(cache.encoder_length(0) == 2);
}

BOOST_DATA_TEST_CASE_F(reader, wrong_encoder_inputs_are_refused_and_change_nothing, data::make(devices), device) {
  use(device);
  const auto limit = static_cast<token>(model->config().vocabulary);
  BOOST_CHECK_EXCEPTION(encode({{.slot = 0, .count = 2}}, {1, limit}), std::out_of_range,
                        has_message(std::to_string(limit)));
  BOOST_CHECK_THROW(encode({{.slot = 0, .count = 2}}, {1, -1}), std::out_of_range);
  BOOST_CHECK_EXCEPTION(encode({{.slot = 0, .count = 2}}, {1}), std::invalid_argument, has_message("1 tokens"));
  BOOST_CHECK_THROW(encode({{.slot = 3, .count = 1}}, {1}), std::out_of_range);
  BOOST_CHECK_THROW(encode({{.slot = 0, .count = 41}}, random_tokens(*model, 41, 6)), std::length_error);
  const int most = static_cast<int>(model->config().max_positions);
  BOOST_CHECK_EXCEPTION(encode({{.slot = 0, .count = most + 1}}, random_tokens(*model, most + 1, 6)), std::length_error,
                        has_message("the model reads at most " + std::to_string(most)));
  BOOST_CHECK_THROW(model->encode(std::vector<token>{}, cache), std::invalid_argument);
  auto strange = tiny_model()->make_cache({.slots = 1, .max_sequence_length = 16});
  BOOST_CHECK_THROW(model->encode(std::vector<token>{1}, strange), std::invalid_argument);
  check_nothing_is_held();
}

BOOST_DATA_TEST_CASE_F(reader, no_encoder_inputs_are_no_work, data::make(devices), device) {
  use(device);
  encode({}, {});
  check_nothing_is_held();
}

BOOST_DATA_TEST_CASE_F(reader, a_model_without_an_encoder_says_so, data::make(devices), device) {
  use(device);
  const auto llama = load_model(golden_folder("llama_default"), {.threads = 1, .device = device});
  auto plain = llama->make_cache({.slots = 1, .max_sequence_length = 16});
  BOOST_TEST(model->has_encoder());
  BOOST_TEST(!llama->has_encoder());
  BOOST_CHECK_EXCEPTION(llama->encode(std::vector<token>{1}, plain), std::logic_error,
                        has_message("a llama model has no encoder"));
}

BOOST_AUTO_TEST_CASE(distances_count_in_layers_of_your_own_as_well) {
  const auto model = load_model(golden_folder("t5_published"), {.threads = 1});
  const auto own = [](int, const auto& shape, const auto& slots) -> std::unique_ptr<cache::layer> {
    if (shape.kind == cache::layer_kind::cross) return nullptr;
    return std::make_unique<plain_layer>(shape, cache::scalar::f32, slots);
  };
  const cache::options options{.type = cache::scalar::f32, .max_sequence_length = 64, .max_encoder_length = 64};
  auto kept = model->make_cache(options), by_hand = model->make_cache(options, own);
  for (auto* filled : {&kept, &by_hand}) model->encode(random_tokens(*model, 30, 1), *filled);
  const auto tokens = random_tokens(*model, 40, 2);
  const auto expected = model->forward(tokens, kept), came = model->forward(tokens, by_hand);
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(came[i] - expected[i]) < 1e-4F);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
