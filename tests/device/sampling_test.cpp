// What a step samples on a device, and the tokens whose log-probabilities it returns, against the processor.
#include "engine/runner/sampling_block.hpp"
#include "sampling/sampler.hpp"
#include "tested_backend.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cogen::test {

namespace {

constexpr int logits_width = 700;
constexpr token untouched = -7;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// One row of a step: a slot's sample, a token that is known, or padding.
struct step_row {
  std::vector<float> logits;
  int slot = -1;
  token known = -1;
  int alternatives = 0;  ///< most probable tokens
};

sampler sampler_of(const step_row& row) { return {{.temperature = 1, .logprobs = row.alternatives}, logits_width}; }

void describe(const step_row& source, sampling_row& row, sampling_lists& lists) {
  token_history history;
  if (source.slot >= 0) {
    row = sampler_of(source).row_after(history, false, {}, lists);
    row.slot = source.slot;
  } else if (source.known >= 0) {
    row.scored = source.known;
    row.logprobs = sampled_logprobs::raw;
    row.top = {lists.top_logprobs, static_cast<std::uint32_t>(source.alternatives)};
    lists.top_logprobs += row.top.count;
  }
}

sampled on_host(const step_row& row) {
  sampling_scratch scratch;
  if (row.slot < 0) return logprobs_of(row.logits, row.known, static_cast<std::size_t>(row.alternatives), scratch);
  auto logits = row.logits;
  token_history history;
  return sampler_of(row).sample(logits, history, {}, scratch);
}

bool near(float a, float b) { return a == b || std::abs(a - b) <= 1e-6F * std::max(1.0F, std::abs(b)); }

void check_like_host(sampling_status status, const sampled_token& found, const sampled& expected) {
  BOOST_TEST((status == expected.status));
  BOOST_TEST(found.id == expected.id);
  BOOST_TEST(near(found.logprob, expected.logprob), found.logprob << ", not " << expected.logprob);
  BOOST_REQUIRE(found.top.size() == expected.top.size());
  for (std::size_t i = 0; i < found.top.size(); ++i) {
    BOOST_TEST(found.top[i].id == expected.top[i].id);
    BOOST_TEST(near(found.top[i].logprob, expected.top[i].logprob));
  }
}

/// In one step, twice: its second turn has the other buffers, and its logits come in parts.
void check_step(const std::vector<step_row>& rows) {
  const auto where = tested_backend();
  const auto work = where->make_stream();
  const auto operators = where->make_operators();
  const auto count = static_cast<std::int64_t>(rows.size());
  detail::sampling_block block(*where, count);
  std::vector<float> numbers;
  for (const auto& each : rows) numbers.insert(numbers.end(), each.logits.begin(), each.logits.end());
  for (int turn = 0; turn < 2; ++turn) {
    const auto logits = at::tensor(numbers).view({count, logits_width}).to(where->device());
    const auto last = at::full({count}, untouched, at::TensorOptions(where->device()).dtype(at::kInt));
    where->synchronize();
    block.begin(count);
    sampling_lists lists;
    for (std::int64_t i = 0; i < count; ++i) describe(rows[static_cast<std::size_t>(i)], block.row(i), lists);
    const auto part = turn == 0 ? count : 5;
    work->run_on_stream([&] {
      block.send(lists);
      for (std::int64_t first = 0; first < count; first += part)
        block.sample(*operators, logits.narrow(0, first, std::min(part, count - first)), first, last);
      block.receive();
    });
    work->wait();
    std::vector<token> kept(rows.size(), untouched);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& row = rows[static_cast<std::size_t>(i)];
      if (row.slot < 0 && row.known < 0) continue;
      const auto expected = on_host(row);
      if (row.slot >= 0) kept[static_cast<std::size_t>(row.slot)] = expected.id;
      BOOST_TEST_CONTEXT("row " << i << ", slot " << row.slot << ", known token " << row.known)
      check_like_host(block.status(block.turn(), i), block.sampled(block.turn(), i), expected);
    }
    for (std::int64_t slot = 0; slot < count; ++slot)
      BOOST_TEST(last[slot].item<token>() == kept[static_cast<std::size_t>(slot)]);
  }
}

std::vector<float> some_logits(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> logits;
  for (int i = 0; i < logits_width; ++i) logits.push_back(static_cast<float>(random() % 4096) / 512 - 4);
  return logits;
}

BOOST_AUTO_TEST_SUITE(device_sampling, *boost::unit_test::precondition(the_tested_place()))

BOOST_AUTO_TEST_CASE(known_tokens_are_scored_beside_samples_and_padding) {
  for (const int alternatives : {0, 3, 128}) {
    std::vector<step_row> rows;
    for (unsigned i = 0; i < 24; ++i) {
      auto& row = rows.emplace_back();
      row.logits = some_logits(i);
      row.alternatives = alternatives;
      if (i % 3 == 0)
        row.slot = static_cast<int>(23 - i);
      else if (i % 3 == 1)
        row.known = static_cast<token>(29 * i);
    }
    check_step(rows);
  }
}

BOOST_AUTO_TEST_CASE(known_tokens_have_the_status_of_their_logits) {
  for (const int alternatives : {0, 3, 128}) {
    std::vector<step_row> rows(7, {.logits = some_logits(1), .known = 5, .alternatives = alternatives});
    rows[0].logits[699] = std::numeric_limits<float>::quiet_NaN();
    rows[1].logits[0] = infinity;
    rows[2].logits.assign(logits_width, -infinity);
    rows[3].logits[5] = -infinity;
    rows[4].logits.assign(logits_width, -infinity);
    rows[4].logits[5] = 1;
    rows[5].logits.assign(logits_width, -infinity);
    rows[5].logits[6] = 1;
    rows[6] = {.logits = rows[2].logits, .slot = 3, .alternatives = alternatives};
    check_step(rows);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
