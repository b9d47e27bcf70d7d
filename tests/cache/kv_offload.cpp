// Layers behind a transfer: what is moved, when, and what happens where moving fails.
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"
#include "watched_transfer.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(offloading)
namespace {

namespace data = boost::unit_test::data;
using fault = watched_transfer::fault;

constexpr int longest = 500;
constexpr kv_cache_spec each_layer{.kv_heads = 2, .head_dim = 32};
const std::vector<kv_cache_spec> three_layers(3, each_layer);
constexpr std::int64_t token_bytes = 2 * 2 * 32 * 4;  // keys and values in float32

options behind(const std::shared_ptr<transfer>& through) {
  return {.type = scalar::f32, .slots = 4, .max_sequence_length = longest, .kv_offload = through};
}

options quantized_behind(const std::shared_ptr<transfer>& through) {
  options options = behind(through);
  options.kv_quantization = int8();
  options.kv_quantization->residual = 0;
  return options;
}

/// A kind of the twin's; three layers and four slots at most 500 long, whatever it asks for.
kind as_kind(const options& options) {
  const auto make = [options](std::span<const kv_cache_spec>, int, int) { return cache(three_layers, options); };
  return {.name = "offloaded",
          .type = options.type,
          .keeps_all = !options.kv_quantization,
          .in_place = false,
          .make = make};
}

std::int64_t bytes_of_job(const std::vector<byte_copy>& job) {
  return std::accumulate(job.begin(), job.end(), std::int64_t{0}, [](std::int64_t sum, const byte_copy& copy) {
    return sum + static_cast<std::int64_t>(copy.source.size());
  });
}

/// What one append() of each layer gives, the tokens of layer i being all i + `base`.
void append(cache& cache, const std::vector<step_row>& rows, float parent) {
  const step step(rows);
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    const at::Tensor k = at::full({step.tokens(), 2, 32}, parent + static_cast<float>(i));
    append(cache.layer(i), step, k, -k);
  }
  cache.advance(step);
}

float first_key(const cache& cache, int layer, int slot, int position) {
  const kv_view view = *cache.layer(layer).view(slot, position + 1);
  float value = 0;
  std::memcpy(&value, key_at(view, position, 1), sizeof(value));
  return value;
}

/// Waits in the middle of one job until it may go on.
class gated_transfer final : public transfer {
 public:
  explicit gated_transfer(int gated) : gated_(gated) {}

  void start(std::vector<byte_copy> copies, callback done) override {
    if (started_++ != gated_) return worker_.start(std::move(copies), std::move(done));
    worker_.start({}, [this](std::exception_ptr) { opened_.get_future().wait(); });
    worker_.start(std::move(copies), std::move(done));
  }

  void open() { opened_.set_value(); }

 private:
  int gated_;
  int started_ = 0;
  std::promise<void> opened_;
  worker_transfer worker_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(older_tokens_come_up_once_and_only_blocks_with_new_ones_go_down) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 100}, {.slot = 2, .count = 64}}, 1);
  for (const auto& rows : {std::vector<step_row>{{.slot = 0, .count = 1}},
                           std::vector<step_row>{{.slot = 2, .count = 70}, {.slot = 0, .count = 3}}}) {
    watched->jobs.clear();
    std::int64_t older = 0, added = 0;
    for (const step_row& row : rows) {
      older += (cache.length(row.slot) + 63) / 64 * 64 * token_bytes;
      const std::int64_t blocks = (cache.length(row.slot) + row.count + 63) / 64 - cache.length(row.slot) / 64;
      added += (blocks * 64 + row.count) * token_bytes / 2;  // keys by the block, values by the token
    }
    append(cache, rows, 5);
    std::vector<std::int64_t> bytes;
    for (const auto& job : watched->jobs) bytes.push_back(bytes_of_job(job));
    const std::vector<std::int64_t> wanted{older, older, added, older, added, added};  // layers 0 1 0 2 1 2
    BOOST_TEST(bytes == wanted, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_layer_that_is_looked_at_again_costs_nothing) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 100}, {.slot = 1, .count = 3}}, 1);
  const step step({{.slot = 0, .count = 1}, {.slot = 1, .count = 1}});
  cache.reserve(step);
  watched->jobs.clear();
  for (const int slot : {0, 1, 0, 1}) BOOST_TEST(first_key(cache, 0, slot, 2) == 1);
  BOOST_TEST(watched->jobs.size() == 2);
}

BOOST_AUTO_TEST_CASE(what_slots_share_comes_up_once) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 128}}, 1);
  cache.share_prefix(1, 0, 128);
  cache.share_prefix(2, 0, 64);
  append(cache, {{.slot = 1, .count = 1}}, 2);
  watched->jobs.clear();
  append(cache, {{.slot = 1, .count = 1}, {.slot = 2, .count = 1}, {.slot = 0, .count = 1}}, 3);
  BOOST_TEST(bytes_of_job(watched->jobs.front()) == 3 * 64 * token_bytes);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(first_key(cache, i, 1, 127) == static_cast<float>(1 + i));
    BOOST_TEST(first_key(cache, i, 1, 128) == static_cast<float>(2 + i));
    BOOST_TEST(first_key(cache, i, 2, 64) == static_cast<float>(3 + i));
  }
}

BOOST_AUTO_TEST_CASE(near_memory_is_in_the_footprint) {
  cache cache(three_layers, behind(std::make_shared<watched_transfer>()));
  append(cache, {{.slot = 0, .count = 200}}, 1);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(200));
  cache.share_prefix(1, 0, 192);
  append(cache, {{.slot = 1, .count = 1}}, 2);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(200) + cache.footprint(1));
  cache.truncate(1, 192);
  cache.truncate(0, 192);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(192));
  cache.clear(1);
  cache.truncate(0, 10);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(10));
  cache.clear(0);
  BOOST_TEST(cache.committed_bytes() == 0);
}

BOOST_AUTO_TEST_CASE(quantized_tokens_are_fewer_bytes) {
  const auto exact = std::make_shared<watched_transfer>(), quantized = std::make_shared<watched_transfer>();
  cache plain(three_layers, behind(exact));
  cache kv_quantization(three_layers, quantized_behind(quantized));
  for (cache* filled : {&plain, &kv_quantization}) append(*filled, {{.slot = 0, .count = 256}}, 1);
  exact->jobs.clear(), quantized->jobs.clear();
  for (cache* filled : {&plain, &kv_quantization}) append(*filled, {{.slot = 0, .count = 64}}, 2);
  const auto moved = [](const watched_transfer& transfer) {
    std::int64_t bytes = 0;
    for (const auto& job : transfer.jobs) bytes += bytes_of_job(job);
    return bytes;
  };
  BOOST_TEST(moved(*quantized) > 0);
  BOOST_TEST(moved(*quantized) < moved(*exact) / 3);
}

BOOST_AUTO_TEST_CASE(the_next_layer_is_under_way_while_one_is_read) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 80}}, 1);
  const step step({{.slot = 0, .count = 1}});
  cache.reserve(step);
  watched->jobs.clear();
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(first_key(cache, i, 0, 79) == static_cast<float>(1 + i));
    BOOST_TEST(watched->jobs.size() == static_cast<std::size_t>(std::min(i + 2, 3)));
  }
}

BOOST_AUTO_TEST_CASE(a_layer_is_read_before_the_next_one_has_come) {
  const auto gated = std::make_shared<gated_transfer>(7);  // 6 jobs of the first step, then layer 0 and layer 1
  cache cache(three_layers, behind(gated));
  append(cache, {{.slot = 0, .count = 80}}, 1);
  const step step({{.slot = 0, .count = 1}});
  cache.reserve(step);
  BOOST_TEST(first_key(cache, 0, 0, 79) == 1);
  gated->open();
  BOOST_TEST(first_key(cache, 1, 0, 79) == 2);
  BOOST_TEST(first_key(cache, 2, 0, 79) == 3);
}

BOOST_DATA_TEST_CASE(a_transfer_that_fails_changes_nothing,
                     data::make({fault::refuse, fault::fail}) * data::make({false, true}), kind, kv_quantization) {
  std::size_t index = 0;
  for (bool failed = true; failed; ++index) {
    const auto watched = std::make_shared<watched_transfer>();
    twin twin(as_kind(kv_quantization ? quantized_behind(watched) : behind(watched)), 4, longest);
    cache& cache = twin.tested();
    twin.append({{.slot = 0, .count = 130}, {.slot = 1, .count = 70}, {.slot = 3, .count = 5}});
    watched->wanted = kind;
    watched->fault_at = watched->jobs.size() + index;
    const std::vector<step_row> rows{{.slot = 1, .count = 60}, {.slot = 0, .count = 66}};
    std::string said;
    try {
      append(cache, rows, 1);
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    failed = watched->failed;
    if (!failed) break;
    BOOST_TEST(said == (kind == fault::refuse ? "refused" : "unplugged"));
    twin.check();
    BOOST_TEST(cache.length(0) == 130);
    twin.append(rows);
    twin.check();
  }
  BOOST_TEST(index >= (kv_quantization ? 5 : 6));
}

BOOST_DATA_TEST_CASE(a_step_that_has_failed_stays_failed, data::make({fault::refuse, fault::fail}), kind) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 80}}, 1);
  for (const std::size_t index : {0U, 1U, 2U, 3U}) {
    const step step({{.slot = 0, .count = 2}});
    watched->jobs.clear();
    watched->wanted = kind;
    watched->fault_at = index;
    cache.reserve(step);
    const at::Tensor k = at::full({2, 2, 32}, 9.0F);
    for (int i = 0; i < 3; ++i) {
      try {
        append(cache.layer(i), step, k, k);
      } catch (const std::runtime_error&) {
      }
    }
    for (int i = 0; i < 3; ++i) {
      try {
        BOOST_TEST(first_key(cache, i, 0, 79) == static_cast<float>(1 + i));
      } catch (const std::runtime_error&) {
      }
    }
    BOOST_CHECK_THROW(cache.advance(step), std::runtime_error);
    for (int i = 0; i < 3; ++i) BOOST_TEST(first_key(cache, i, 0, 79) == static_cast<float>(1 + i));
    BOOST_TEST(cache.length(0) == 80);
  }
}

BOOST_AUTO_TEST_CASE(reading_everything_hides_no_failure) {
  const auto watched = std::make_shared<watched_transfer>();
  cache cache(three_layers, behind(watched));
  append(cache, {{.slot = 0, .count = 80}}, 1);
  const step step({{.slot = 0, .count = 2}});
  watched->wanted = fault::fail;
  watched->fault_at = watched->jobs.size() + 2;  // layer 0 on its way down
  cache.reserve(step);
  const at::Tensor k = at::full({2, 2, 32}, 9.0F);
  append(cache.layer(0), step, k, k);
  BOOST_CHECK_THROW(cache.layer(0).to_dense(0, 82), std::runtime_error);
  BOOST_CHECK_THROW(cache.advance(step), std::runtime_error);
  BOOST_TEST(cache.length(0) == 80);
}

BOOST_AUTO_TEST_CASE(a_cache_ends_its_jobs_before_it_goes) {
  for (int given_up_at = 0; given_up_at < 4; ++given_up_at) {
    const auto worker = std::make_shared<worker_transfer>();
    cache cache(std::vector<kv_cache_spec>(3, {.kv_heads = 8, .head_dim = 64}),
                {.slots = 4, .max_sequence_length = 2000, .kv_offload = worker});
    const step first({{.slot = 0, .count = 1500}, {.slot = 3, .count = 1000}});
    cache.reserve(first);
    for (int i = 0; i < 3; ++i) {
      const at::Tensor k = at::full({2500, 8, 64}, 1.0F);
      append(cache.layer(i), first, k, k);
    }
    cache.advance(first);
    const step second({{.slot = 0, .count = 1}, {.slot = 1, .count = 400}});
    cache.reserve(second);
    for (int i = 0; i < std::min(given_up_at, 3); ++i) {
      const at::Tensor k = at::full({401, 8, 64}, 1.0F);
      append(cache.layer(i), second, k, k);
    }
  }
}

/// Changes of a cache in the middle of a step that is then given up: each waits for what is still on its way.
BOOST_AUTO_TEST_CASE(a_step_given_up_is_no_danger_to_what_comes_then) {
  const std::vector<std::function<void(cache&)>> changes{
      [](cache& cache) { cache.share_prefix(1, 0, 64); },
      [](cache& cache) { cache.fork({.slot = 1, .parent = 0, .shared = 64, .source = 0, .end = 70}); },
      [](cache& cache) { cache.copy(0, 1, 0, 70); },
      [](cache& cache) { cache.truncate(0, 65); },
      [](cache& cache) { cache.clear(0); },
      [](cache& cache) { cache.release(0, 64); },
      [](cache& cache) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(cache.length(0))));
        cache.export_slot(0, bytes);
        cache.import_slot(1, cache.length(0), bytes);
      }};
  for (const auto& change : changes) {
    cache cache(three_layers, behind(std::make_shared<worker_transfer>()));
    append(cache, {{.slot = 0, .count = 90}, {.slot = 2, .count = 300}}, 1);
    const step step({{.slot = 1, .count = 400}, {.slot = 0, .count = 20}});
    cache.reserve(step);
    for (int i = 0; i < 3; ++i) {
      const at::Tensor k = at::full({420, 2, 32}, 9.0F);
      append(cache.layer(i), step, k, k);
    }
    change(cache);
    append(cache, {{.slot = 3, .count = 10}, {.slot = 2, .count = 1}}, 7);
    for (int i = 0; i < 3; ++i) {
      if (cache.length(1) > 60) BOOST_TEST(first_key(cache, i, 1, 60) == static_cast<float>(1 + i));
      BOOST_TEST(first_key(cache, i, 2, 299) == static_cast<float>(1 + i));
      BOOST_TEST(first_key(cache, i, 2, 300) == static_cast<float>(7 + i));
      BOOST_TEST(first_key(cache, i, 3, 9) == static_cast<float>(7 + i));
    }
  }
}

BOOST_DATA_TEST_CASE(a_step_over_several_slots_with_bases, data::make({false, true}), kv_quantization) {
  const auto worker = std::make_shared<worker_transfer>();
  twin twin(as_kind(kv_quantization ? quantized_behind(worker) : behind(worker)), 4, longest);
  twin.append({{.slot = 0, .count = 200}, {.slot = 3, .count = 64}});
  twin.fork(1, 0, kv_quantization ? 128 : 192, 200);
  twin.fork(2, 0, 64, kv_quantization ? 200 : 90);
  twin.append({{.slot = 2, .count = 40}, {.slot = 1, .count = 1}, {.slot = 0, .count = 70}, {.slot = 3, .count = 1}});
  twin.check();
  twin.append({{.slot = 1, .count = 100}, {.slot = 2, .count = 1}});
  twin.check();
  if (!kv_quantization) twin.truncate(1, 100);
  twin.append({{.slot = 1, .count = 30}, {.slot = 0, .count = 1}});
  twin.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
