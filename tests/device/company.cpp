#include "company.hpp"

#include "../engine/model_engines.hpp"

#include <algorithm>
#include <cstring>

namespace cogen::test {

namespace {

constexpr int length = 50;

std::vector<token_stream> start_others(engine& running, const model& model, int count) {
  std::vector<token_stream> streams;
  for (int i = 0; i < count; ++i) {
    request beside{.prompt = token_ids(some_tokens(model, 5 + 11 * i, 100 + static_cast<unsigned>(i))),
                   .max_tokens = 20,
                   .ignore_eos = true};
    if (model.has_encoder()) beside.encoder_input = source_for(model, 1);
    streams.push_back(running.generate(std::move(beside)));
  }
  return streams;
}

net::awaitable<void> read(engine& running, const model& model, const company& setting, logits& output) {
  const auto tokens = some_tokens(model, length, 7);
  auto seq = open(running, model);
  for (int begin = 0; begin < length; begin += setting.at_once) {
    const auto piece = std::span(tokens).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(std::min(setting.at_once, length - begin)));
    output.append(co_await seq.async_forward({piece.begin(), piece.end()}, logits_of::all));
    if (setting.suspended) co_await seq.async_suspend();
  }
}

}  // namespace

std::vector<float> logits_in(const company& setting, const std::shared_ptr<const model>& model,
                             engine_options options) {
  options.batching.slots = 4;
  options.kv.prefix_caching = false;
  engine running(model, options);
  const auto streams = start_others(running, *model, setting.requests);
  logits output;
  net::io_context context;
  net::co_spawn(context, read(running, *model, setting, output), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  if (options.external_stepping)
    settle(running, context);
  else
    context.run();
  BOOST_TEST(output.rows() == length);
  std::vector<float> values;
  for (int row = 0; row < output.rows(); ++row) values.insert(values.end(), output[row].begin(), output[row].end());
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace cogen::test
