#include "company.hpp"

#include "../engine/model_engines.hpp"

#include <algorithm>
#include <cstring>

namespace cogen::test {

namespace {

constexpr int length = 50;

std::vector<token_stream> start_others(engine& running, const model& model, int count) {
  std::vector<token_stream> all;
  for (int i = 0; i < count; ++i) {
    request beside{.prompt = token_ids(some_tokens(model, 5 + 11 * i, 100 + static_cast<unsigned>(i))),
                   .max_tokens = 20,
                   .ignore_eos = true};
    if (model.has_encoder()) beside.encoder_input = source_for(model, 1);
    all.push_back(running.generate(std::move(beside)));
  }
  return all;
}

net::awaitable<void> read(engine& running, const model& model, const company& how, logits& into) {
  const auto tokens = some_tokens(model, length, 7);
  auto seq = open(running, model);
  for (int begin = 0; begin < length; begin += how.at_once) {
    const auto piece = std::span(tokens).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(std::min(how.at_once, length - begin)));
    into.append(co_await seq.async_forward({piece.begin(), piece.end()}, logits_of::all));
    if (how.suspended) co_await seq.async_suspend();
  }
}

}  // namespace

std::vector<float> logits_in(const company& how, const std::shared_ptr<const model>& model, engine_options options) {
  options.batching.slots = 4;
  options.kv.prefix_caching = false;
  engine running(model, options);
  const auto others = start_others(running, *model, how.others);
  logits all;
  net::io_context context;
  net::co_spawn(context, read(running, *model, how, all), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  if (options.external_stepping)
    settle(running, context);
  else
    context.run();
  BOOST_TEST(all.rows() == length);
  std::vector<float> values;
  for (int row = 0; row < all.rows(); ++row) values.insert(values.end(), all[row].begin(), all[row].end());
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace cogen::test
