// A GPU says what the processor says: operators against plain ones, engines against engines.
#include "a_device.hpp"
#include "attention_step.hpp"
#include "company.hpp"
#include "device_models.hpp"
#include "engine/model_engines.hpp"
#include "network/backend/quantized_rows.hpp"
#include "network/backend/reference/reference_operators.hpp"
#include "plain_backend.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <ostream>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

const auto on_a_device = boost::unit_test::precondition(a_device());

BOOST_AUTO_TEST_SUITE(cuda, *on_a_device)

const kept_tokens all_kept[] = {{},
                                {.window = 100},
                                {.window = 100, .ring = 256},
                                {.sinks = cache::sink_window{.sinks = 4, .window = 100}, .ring = 256},
                                {.sinks = cache::sink_window{.sinks = 64, .window = 30}, .ring = 192},
                                {.fp8 = true},
                                {.window = 100, .fp8 = true},
                                {.sinks = cache::sink_window{.sinks = 4, .window = 100}, .ring = 256, .fp8 = true}};

BOOST_DATA_TEST_CASE(attention_is_that_of_plain_tensors,
                     data::make(all_kept) * data::make({at::kBFloat16, at::kHalf}) * data::make({0, 1}) *
                         data::make({640, 440}),  // the keys of a prompt are split, or not
                     what, type, layer, max_held) {
  attention_step step({0, 5, 64, 300, 699, 0, 17, 128, max_held}, {1, 1, 1, 1, 1, 2, 70, 128, 60}, what, type);
  const auto gpu = device::backend_named("cuda")->make_operators();
  device::reference_operators plain;
  const auto like = at::TensorOptions(at::kCUDA).dtype(type);
  const auto angles = [&](int positions) { return at::randn({positions, 64}, like.dtype(at::kFloat)).clamp_(-1, 1); };
  const device::rotation turn{.near = angles(100), .far = angles(7)};
  turn.far.select(0, 0).narrow(0, 0, 32).fill_(1);
  turn.far.select(0, 0).narrow(0, 32, 32).fill_(0);
  const auto& kept = step.memory.layer(layer);
  auto twin = kept;
  twin.keys = kept.keys.clone();
  twin.values = kept.values.clone();
  const auto with_sinks = [&](const at::Tensor& qkv) {
    return device::qkv_rows{qkv, what.sinks ? at::zeros({step.tokens, 9 * 64}, like) : at::Tensor()};
  };
  const auto numbers = with_sinks(at::randn({step.tokens, (9 + 6) * 64}, like));
  const auto twins = with_sinks(numbers.qkv.clone());

  gpu->rotate_and_append(numbers, step.shape, turn, step.rows, kept);
  plain.rotate_and_append(twins, step.shape, turn, step.rows, twin);
  const auto queries = [](const at::Tensor& qkv) { return qkv.narrow(1, 0, 9 * 64); };
  BOOST_TEST(distance(queries(numbers.qkv), queries(twins.qkv)) < 1e-2);
  if (what.sinks) BOOST_TEST(distance(numbers.sink_q, twins.sink_q) < 1e-2);
  BOOST_TEST(distance(kept.keys, twin.keys) < (what.fp8 ? 3e-2 : 1e-2));  // a step of fp8 is a sixteenth
  BOOST_TEST(distance(kept.values, twin.values) == 0);

  const auto out = at::full({step.tokens, 9 * 64}, NAN, like);
  const auto expected = at::empty_like(out);
  gpu->attend(numbers, step.shape, step.rows, kept, out);
  plain.attend(numbers, step.shape, step.rows, kept, expected);
  for (std::int64_t token = 0; token < step.tokens; ++token)
    BOOST_TEST(distance(out.select(0, token), expected.select(0, token)) < 1e-2, "token " << token);
}

using kernels::weight_packing;

constexpr weight_packing packings[] = {
    weight_packing::int8,       weight_packing::int4,       weight_packing::int5,
    weight_packing::int6,       weight_packing::int6_zeros, weight_packing::int8_groups,
    weight_packing::int8_zeros, weight_packing::mxfp4,      weight_packing::fp8};

/// Random codes and scales.
device::quantized_rows any_codes(weight_packing packing, std::int64_t rows, std::int64_t columns,
                                 at::TensorOptions like) {
  if (packing == weight_packing::fp8)
    return device::quantize_in_fp8(at::randn({rows, columns}, like.dtype(at::kFloat)),
                                   c10::typeMetaToScalarType(like.dtype()));
  const int bits = kernels::form_of(packing).bits;
  auto result = device::make_quantized_rows(packing, rows, columns, like);
  result.codes.random_(bits == 8 ? -127 : 0, bits == 8 ? 128 : 1 << bits);
  result.scales.normal_(0, 1.0 / (1 << (bits - 2)));
  return result;
}

BOOST_DATA_TEST_CASE(products_norms_and_gates_are_those_of_plain_tensors,
                     data::make({at::kBFloat16, at::kHalf}) * data::make({1, 3, 64, 200}), type, rows) {
  const auto gpu = device::backend_named("cuda")->make_operators();
  device::reference_operators plain;
  const auto like = at::TensorOptions(at::kCUDA).dtype(type);
  const auto compare = [&](const std::string& name, const at::Tensor& shape, auto run) {
    const auto got = at::full_like(shape, NAN);
    const auto expected = at::full_like(shape, NAN);
    run(*gpu, got);
    run(static_cast<device::operators&>(plain), expected);
    BOOST_TEST(distance(got, expected) < 1e-2, name);
  };
  const auto x = at::randn({rows, 576}, like);
  const auto weights = at::randn({960, 576}, like);
  const auto bias = at::randn({960}, like);
  const auto residual = at::randn({rows, 576}, like.dtype(at::kFloat));
  const auto wide = at::randn({rows, 960}, like.dtype(at::kFloat));
  const device::norm norm{at::randn({576}, like), 1e-5};
  for (const auto& layer : {device::projection{weights, {}}, device::projection{weights, bias}}) {
    const std::string suffix = layer.bias.defined() ? ", biased" : "";
    compare("linear" + suffix, at::empty({rows, 960}, like),
            [&](auto& ops, const auto& y) { ops.norm_linear(residual, norm, layer, y); });
    compare("scores" + suffix, wide, [&](auto& ops, const auto& y) { ops.norm_linear(residual, norm, layer, y); });
    compare("gated" + suffix, at::empty({rows, 480}, like),
            [&](auto& ops, const auto& y) { ops.norm_activated(residual, norm, layer, {}, y); });
    compare("added" + suffix, wide, [&](auto& ops, const auto& y) { ops.linear_add(x, layer, {}, y.copy_(wide)); });
  }
  for (const auto packing : packings) {
    const auto quantized = any_codes(packing, 960, 576, like);
    for (const auto& shift : {at::Tensor(), bias}) {
      const auto make_layer = [&](device::operators& ops) {
        const auto packed = ops.pack(quantized);
        return device::projection{.weights = packed.codes, .bias = shift, .scales = packed.scales, .packing = packing};
      };
      const std::string suffix =
          ", packing " + std::to_string(static_cast<int>(packing)) + (shift.defined() ? ", biased" : "");
      compare("linear" + suffix, at::empty({rows, 960}, like),
              [&](auto& ops, const auto& y) { ops.norm_linear(residual, norm, make_layer(ops), y); });
      compare("gated" + suffix, at::empty({rows, 480}, like),
              [&](auto& ops, const auto& y) { ops.norm_activated(residual, norm, make_layer(ops), {}, y); });
      compare("added" + suffix, wide,
              [&](auto& ops, const auto& y) { ops.linear_add(x, make_layer(ops), {}, y.copy_(wide)); });
    }
  }
}

BOOST_DATA_TEST_CASE(embeddings_and_scores_are_those_of_plain_tensors,
                     data::make({at::kBFloat16, at::kHalf}) * data::make({1, 3, 64}), type, rows) {
  const auto gpu = device::backend_named("cuda")->make_operators();
  device::reference_operators plain;
  const auto like = at::TensorOptions(at::kCUDA).dtype(type);
  constexpr std::int64_t vocabulary = device::unpacked_outputs + 100, width = 576;
  const auto ids = at::arange(rows, like.dtype(at::kInt)) - 1;
  const device::step_rows some{.ids = ids, .slots = at::full_like(ids, 2)};
  const auto last = at::arange(4, like.dtype(at::kInt)) + 100;
  const auto x = at::randn({rows, width}, like.dtype(at::kFloat));
  const device::norm norm{at::randn({width}, like), 1e-5};
  const auto check = [&](const device::projection& own, const device::projection& other, const std::string& name) {
    const auto got = at::full({rows, width}, NAN, x.options()), expected = at::full_like(got, NAN);
    gpu->embed({.table = own, .width = width}, some, last, got);
    plain.embed({.table = other, .width = width}, some, last, expected);
    BOOST_TEST(distance(got, expected) < 1e-6, "embedding, " << name);
    const auto scores = at::full({rows, vocabulary}, NAN, x.options()), expected_scores = at::full_like(scores, NAN);
    gpu->score(x, norm, {.product = own}, scores);
    plain.score(x, norm, {.product = other}, expected_scores);
    BOOST_TEST(distance(scores, expected_scores) < 1e-2, "scores, " << name);
  };
  const device::projection whole{at::randn({vocabulary, width}, like)};
  check(whole, whole, "whole");
  for (const auto packing : packings) {
    const auto codes = any_codes(packing, vocabulary, width, like);
    const auto make_layer = [&](device::operators& ops) {
      const auto packed = ops.pack(codes);
      return device::projection{.weights = packed.codes, .scales = packed.scales, .packing = packing};
    };
    check(make_layer(*gpu), make_layer(plain), "packing " + std::to_string(static_cast<int>(packing)));
  }
}

std::vector<std::vector<token>> answers(engine& running, const std::vector<request>& asked) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> received(asked.size());
  std::size_t ended = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    streams.push_back(running.generate(asked[i]));
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, completion whole) {
      BOOST_TEST(!code, streams[i].error().message());
      for (const auto& choice : whole.tokens) received[i].push_back(choice.id);
      ++ended;
    }));
  }
  context.run();
  BOOST_TEST(ended == asked.size());
  return received;
}

/// The logits after each token, fed all at once, and one by one.
std::pair<logits, logits> read_twice(const std::shared_ptr<const model>& model, const std::vector<token>& tokens,
                                     engine_options options = {}) {
  options.batching.slots = 4;
  options.limits.max_sequence_length = 300;
  engine running(model, options);
  std::pair<logits, logits> read;
  net::io_context context;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        auto whole = running.open();
        read.first = co_await whole.async_forward(tokens, logits_of::all);
        auto slow = running.open();
        for (const token id : tokens) read.second.append(co_await slow.async_forward({id}));
      },
      [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
  context.run();
  return read;
}

void check_rows_near(const logits& received, const logits& expected, int rows, double most, const char* suffix = "") {
  const auto row_of = [](const logits& values, int row) {
    return at::tensor(std::vector<float>(values[row].begin(), values[row].end()), at::kFloat);
  };
  for (int row = 0; row < rows; ++row)
    BOOST_TEST(distance(row_of(received, row), row_of(expected, row)) < most, "row " << row << suffix);
}

BOOST_DATA_TEST_CASE(logits_are_near_those_of_the_processor, data::make({0, 50}), window) {
  const auto reference = seeded_model_on(std::make_shared<plain_backend>(), at::kFloat, window);
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16, window);
  const auto tokens = some_tokens(*reference, 150, 5);
  const auto [whole, single] = read_twice(model, tokens);
  const auto expected = read_twice(reference, tokens).first;
  check_rows_near(whole, expected, 150, 3e-2);
  check_rows_near(single, expected, 150, 3e-2, ", fed one by one");
}

BOOST_DATA_TEST_CASE(logits_of_quantized_weights_are_close_to_those_of_the_processor, data::make({0, 1, 2}), which) {
  constexpr device_weights forms[] = {device_weights::int8, device_weights::int4, device_weights::fp8};
  const auto form = forms[which];
  const auto reference = seeded_model_on(std::make_shared<plain_backend>(), at::kFloat, 0, form);
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16, 0, form);
  const auto tokens = some_tokens(*reference, 150, 5);
  const auto [whole, single] = read_twice(model, tokens);
  const auto [expected, expected_single] = read_twice(reference, tokens);
  // Activations that differ a little are sometimes rounded to other numbers of 8 bits.
  check_rows_near(whole, expected, 150, form == device_weights::fp8 ? 0.1 : 5e-2);
  check_rows_near(single, expected_single, 150, 5e-2, ", fed one by one");
}

BOOST_DATA_TEST_CASE(logits_over_quantized_caches_are_close_to_those_of_the_processor, data::make({0, 1, 2, 3}), form) {
  const auto reference = seeded_model_on(std::make_shared<plain_backend>(), at::kFloat);
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16);
  const cache::quantization forms[] = {cache::int8(), cache::int8_int4(), cache::int4(), cache::kivi2()};
  engine_options options;
  options.kv.quantization = forms[form];
  options.kv.quantization->residual = 40;
  options.batching.max_batched_tokens = 64;
  const auto tokens = some_tokens(*reference, 250, 5);
  const auto [whole, single] = read_twice(model, tokens, options);
  const auto [expected_whole, expected_single] = read_twice(reference, tokens, options);
  // Where fewer bits are kept, roundings of keys and values fall on other codes now and then.
  const double most = std::array{3e-2, 6e-2, 0.15, 0.4}[static_cast<std::size_t>(form)];
  check_rows_near(single, expected_single, 250, most);
  // Queries of one prompt all read quantized what the first of them does, which shows where it is two bits.
  if (form < 3) check_rows_near(whole, expected_whole, 250, 3 * most, " of all at once");
}

BOOST_AUTO_TEST_CASE(many_requests_get_what_they_get_alone) {
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16);
  std::vector<request> asked;
  for (int i = 0; i < 23; ++i) {
    auto params = i % 2 == 0 ? sampling_params{.temperature = 1.2, .top_p = 0.9, .repetition_penalty = 1.2, .seed = 7}
                             : sampling_params{};
    if (i % 7 == 3) params.logprobs = 1;
    asked.push_back(request{.prompt = token_ids(some_tokens(*model, 5 + 5 * i, static_cast<unsigned>(i))),
                            .max_tokens = 60,
                            .sampling = params,
                            .ignore_eos = true});
  }
  engine_options options;
  options.batching.slots = 8;
  options.limits.max_sequence_length = 240;
  options.kv.prefix_caching = false;
  engine together(model, options);
  const auto received = answers(together, asked);
  int same = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    BOOST_TEST(received[i].size() == 60u);
    engine alone(model, options);
    same += answers(alone, {asked[i]}).front() == received[i];
  }
  BOOST_TEST_MESSAGE(same << " of " << asked.size() << " requests get the same tokens in a batch as alone");
  BOOST_TEST(same >= 12);  // sums differ in their order with the number of rows
  const auto again = answers(together, asked);
  BOOST_TEST((again == received));
}

// Windows of rings; weights and caches of which kernels read codes.
BOOST_DATA_TEST_CASE(logits_are_the_same_bits_in_any_company_where_that_is_asked_for,
                     data::make({at::kBFloat16, at::kHalf}) * data::make({0, 20}) * data::make({16, 8, 4}) *
                         data::make({false, true}),
                     type, window, bits, quantized) {
  if (quantized && window > 0) return;
  const auto weights = bits == 16 ? device_weights::whole : bits == 8 ? device_weights::int8 : device_weights::int4;
  const auto model = seeded_model_on(device::backend_named("cuda"), type, window, weights);
  engine_options options;
  options.limits.max_sequence_length = 240;
  options.batch_invariant = true;
  if (quantized) {
    options.kv.quantization = cache::int8();
    options.kv.quantization->residual = 10;
  }
  const auto expected = logits_in(alone, model, options);
  for (const auto& setting : companies)
    BOOST_TEST(same_bits(logits_in(setting, model, options), expected), setting.name);
}

BOOST_AUTO_TEST_CASE(preempted_sequences_go_on_to_the_same_tokens) {
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16);
  engine_options options;
  options.batching.slots = 2;
  options.limits.max_sequence_length = 240;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  const auto converse = [&](engine& running, int parties) {
    std::vector<std::vector<token>> received(static_cast<std::size_t>(parties));
    net::io_context context;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
          std::vector<sequence> sequences;
          for (int i = 0; i < parties; ++i) sequences.push_back(running.open());
          for (unsigned turn = 0; turn < 4; ++turn)
            for (std::size_t i = 0; i < sequences.size(); ++i) {
              const auto said = some_tokens(*model, 6 + static_cast<int>(i), 100 * static_cast<unsigned>(i) + turn);
              received[i].push_back((co_await sequences[i].async_decode(said)).id);
            }
        },
        [](std::exception_ptr error) {
          if (error) std::rethrow_exception(error);
        });
    context.run();
    return received;
  };
  engine crowded(model, options);
  const auto received = converse(crowded, 6);
  BOOST_TEST(crowded.stats().swapped_out > 6u);
  options.batching.slots = 6;
  engine roomy(model, options);
  BOOST_TEST((received == converse(roomy, 6)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
