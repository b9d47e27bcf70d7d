// A cache kind of one's own, in the engine's batch: four requests at once, with the built-in cache, with a kind that
// keeps everything, and with the same kind when it shows only a part of it.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/kv_layer.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

namespace asio = boost::asio;
namespace cache = cogen::cache;

namespace {

//[own_cache
/// Numbers in plain vectors. A query sees the newest `window` tokens, and of those before them every eighth.
class thinning_layer final : public cache::layer {
 public:
  thinning_layer(const cache::kv_cache_spec& shape, const cache::slot_table& slots, int window)
      : layer(shape, cache::scalar::f32, slots), window_(window), held_(static_cast<std::size_t>(slots.slots())) {}

  cache::mask rule() const override {
    const cache::mask eighth([](std::int64_t, std::int64_t key) { return key % 8 == 0; });
    return cache::causal() & (cache::sliding(window_) | eighth);
  }

  void append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) override {
    check_new(step, k, v);
    for (int row = 0; row < static_cast<int>(step.rows().size()); ++row) {
      const auto [slot, count, drafts] = step.rows()[static_cast<std::size_t>(row)];
      truncate(slot, slots().length(slot));
      add(k.tokens_from(step.first(row), count), entries(slot).keys);
      add(v.tokens_from(step.first(row), count), entries(slot).values);
    }
  }

  cache::keys_values to_dense(int slot, int length) const override {
    const auto& held = held_[static_cast<std::size_t>(slot)];
    auto dense = cache::make_keys_values(shape().kv_heads, length, shape().head_dim);
    read(held.keys, dense.k);
    read(held.values, dense.v);
    return dense;
  }

  void truncate(int slot, int length) override {
    entries(slot).keys.resize(static_cast<std::size_t>(length * token_size()));
    entries(slot).values.resize(static_cast<std::size_t>(length * token_size()));
  }

  void clear(int slot) override { entries(slot) = {}; }

 private:
  struct tokens {
    std::vector<float> keys, values;  // [length, kv_heads, head_dim]
  };

  tokens& entries(int slot) { return held_[static_cast<std::size_t>(slot)]; }
  int token_size() const { return shape().kv_heads * shape().head_dim; }

  static void add(const cache::head_rows& fresh, std::vector<float>& numbers) {
    for (int token = 0; token < fresh.tokens; ++token)
      for (int head = 0; head < fresh.heads; ++head)
        numbers.insert(numbers.end(), fresh.row(head, token), fresh.row(head, token) + fresh.dims);
  }

  static void read(const std::vector<float>& numbers, const cache::head_rows& target) {
    auto next = numbers.begin();
    for (int token = 0; token < target.tokens; ++token)
      for (int head = 0; head < target.heads; ++head, next += target.dims)
        std::copy_n(next, target.dims, target.row(head, token));
  }

  int window_;
  std::vector<tokens> held_;  // [slots]
};

cache::layer_factory thinning(int window) {
  return [window](int, const cache::kv_cache_spec& shape, const cache::slot_table& slots) {
    return std::make_unique<thinning_layer>(shape, slots, window);
  };
}
//]

constexpr std::array animals{"otter", "owl", "whale", "bee"};
using answers = std::array<std::string, animals.size()>;

asio::awaitable<void> describe(cogen::engine& engine, std::string animal, std::string& answer) {
  auto request =
      cogen::request{.prompt = cogen::chat("Describe the " + animal + " in one sentence."), .max_tokens = 24};
  auto stream = engine.generate(std::move(request));
  answer = (co_await stream.async_complete()).text;
}

answers ask(const std::shared_ptr<const cogen::model>& model, const char* kind, cache::layer_factory own) {
  cogen::engine engine(model, {.batching = {.slots = 4},
                               .kv = {.dtype = cache::scalar::f32, .layer_factory = own},
                               .limits = {.max_sequence_length = 256},
                               .compute_type = cogen::compute_type::float32});  // rounding makes much of little
  asio::io_context context;
  answers descriptions;
  for (std::size_t i = 0; i < descriptions.size(); ++i)
    asio::co_spawn(context, describe(engine, animals[i], descriptions[i]), example::rethrow);
  context.run();
  const auto stats = engine.stats();
  fmt::print("{}, mean batch {:.1f}\n", kind, static_cast<double>(stats.rows) / static_cast<double>(stats.steps));
  for (const auto& answer : descriptions) fmt::print("  {}\n", answer);
  return descriptions;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto model = cogen::load_model(example::model_path(argc, argv));
  const auto built_in = ask(model, "built-in", {});
  const auto whole = ask(model, "own, all that it keeps", thinning(1 << 20));
  ask(model, "own, the newest 24 and every eighth", thinning(24));
  const auto same = std::ranges::mismatch(built_in, whole).in1 - built_in.begin();
  fmt::print("{} of {} answers are the built-in cache's\n", same, built_in.size());
  return built_in == whole ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
