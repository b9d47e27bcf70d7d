// Samples of the device against those of the CPU.
#include "device_array.hpp"
#include "sampling/sample_cuda.hpp"
#include "sampling/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>

namespace cogen::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr token untouched = -7;

boost::test_tools::assertion_result a_device(boost::unit_test::test_unit_id suite) {
  int devices = 0;
  boost::test_tools::assertion_result there(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0);
  if (there) return there;
  there.message() << "no CUDA device";
  std::cout << "no CUDA device: " << boost::unit_test::framework::get(suite, boost::unit_test::TUT_ANY).full_name()
            << " is skipped" << std::endl;
  return there;
}

/// One row, and all that its sample depends on.
struct task {
  std::vector<float> logits;
  sampling_params params;
  token_history history = {};
  sampling_key key = {};
  std::vector<token> end_tokens = {};
  std::vector<std::uint64_t> mask = {};
  int unknown_last = -1;  ///< a token that only the device knows to be the last of the history
  bool by_host = false;
  bool padding = false;
  token scored = -1;  ///< a token that is known; of `params` only `logprobs` says anything then

  int vocabulary() const { return static_cast<int>(logits.size()); }
  sampler make_sampler() const { return {params, vocabulary(), end_tokens}; }
  bool idle() const { return padding || by_host; }
  bool samples() const { return !idle() && scored < 0; }
};

struct result {
  token id;
  sampling_status status;
  float logprob = 0;
  std::vector<std::pair<token, float>> top = {};

  /// The sums behind log-probabilities are added in other orders.
  bool operator==(const result& other) const {
    const auto near = [](float a, float b) { return a == b || std::abs(a - b) <= 1e-6F * std::max(1.0F, std::abs(b)); };
    return id == other.id && status == other.status && near(logprob, other.logprob) &&
           std::ranges::equal(top, other.top, [&](const auto& a, const auto& b) {
             return a.first == b.first && near(a.second, b.second);
           });
  }
};

std::ostream& operator<<(std::ostream& out, const result& result) {
  out << "token " << result.id << " with status " << static_cast<int>(result.status) << ", " << result.logprob
      << "; top";
  for (const auto& [id, logprob] : result.top) out << ' ' << id << ": " << logprob;
  return out;
}

/// Those that are there.
std::vector<std::pair<token, float>> pairs_of(std::span<const token_logprob> top) {
  std::vector<std::pair<token, float>> pairs;
  for (const auto& each : top)
    if (each.id >= 0) pairs.emplace_back(each.id, each.logprob);
  return pairs;
}

sampled chosen_on_host(const task& row) {
  sampling_scratch scratch;
  if (row.scored >= 0)
    return logprobs_of(row.logits, row.scored, static_cast<std::size_t>(*row.params.logprobs), scratch);
  auto logits = row.logits;
  auto history = row.history;
  if (row.unknown_last >= 0) history.append_generated(row.unknown_last);
  return row.make_sampler().sample(logits, history, row.key, scratch, row.mask);
}

/// What was there before, if a row is left alone.
result on_host(const task& row) {
  if (row.idle()) return {untouched, sampling_status::processor_failed};
  const auto chosen = chosen_on_host(row);
  if (chosen.status != sampling_status::ok) return {0, chosen.status};
  return {chosen.id, chosen.status, chosen.logprob, pairs_of(chosen.top)};
}

/// The memory of a batch of equally wide rows; `gap` floats between two of them.
class device_batch {
 public:
  device_batch(const std::vector<task>& tasks, int gap)
      : rows_(tasks.size()),
        width_(tasks.front().logits.size()),
        stride_(width_ + static_cast<std::size_t>(gap)),
        logits_(rows_ * stride_),
        sampling_(rows_),
        biases_(1 << 16),
        counts_(1 << 18),
        masks_(1 << 19),
        last_(rows_ + 1),
        raw_biased_(1 << 16),
        raw_counted_(1 << 18),
        tokens_(rows_),
        statuses_(rows_),
        logprobs_(rows_),
        top_(rows_ * cuda::max_top_logprobs + 1) {
    write(tasks);
  }

  /// Slots are dealt from the last one down; none has number 0.
  void write(const std::vector<task>& tasks) {
    std::vector<float> logits(rows_ * stride_, 77);
    std::vector<sampling_row> sampling(rows_);
    std::vector<token> last(rows_ + 1, untouched);
    sampling_lists lists;
    lists.biases.push_back({0, 1000});  // of no row
    lists.counts.push_back({0, 1000, 1000});
    lists.masks.push_back(0);
    lists.top_logprobs = 1;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto& source = tasks[i];
      std::ranges::copy(source.logits, logits.begin() + static_cast<std::ptrdiff_t>(i * stride_));
      auto& row = sampling[i];
      if (source.scored >= 0)
        describe_scored(source, row, lists);
      else
        describe(source, row, lists);
      row.slot = source.padding || source.scored >= 0 ? -1 : static_cast<std::int32_t>(rows_ - i);
      row.by_host = source.by_host;
      last[rows_ - i] = source.unknown_last >= 0 ? source.unknown_last : untouched;
    }
    rows_sampled_ = sampling;
    logits_.write(logits);
    sampling_.write(sampling);
    biases_.write(lists.biases);
    counts_.write(lists.counts);
    masks_.write(lists.masks);
    last_.write(last);
    tokens_.write(std::vector<token>(rows_, untouched));
    statuses_.write(std::vector<sampling_status>(rows_, sampling_status::processor_failed));
    logprobs_.write(std::vector<float>(rows_, 0));
    top_.write(std::vector<token_logprob>(lists.top_logprobs, {untouched, 0}));
  }

  void enqueue(cudaStream_t stream) const {
    check(cuda::sample({.logits = logits_.data(),
                        .stride = static_cast<std::int64_t>(stride_),
                        .vocabulary = static_cast<int>(width_),
                        .rows = static_cast<int>(rows_),
                        .sampling = sampling_.data(),
                        .biases = biases_.data(),
                        .counts = counts_.data(),
                        .masks = masks_.data(),
                        .raw_biased = raw_biased_.data(),
                        .raw_counted = raw_counted_.data(),
                        .last_tokens = last_.data(),
                        .tokens = tokens_.data(),
                        .statuses = statuses_.data(),
                        .logprobs = logprobs_.data(),
                        .top = top_.data()},
                       stream));
  }

  /// What was sampled; looks at what must not have been written, too.
  std::vector<result> read(const std::vector<task>& tasks) const {
    const auto tokens = tokens_.read();
    const auto statuses = statuses_.read();
    const auto last = last_.read();
    const auto logits = logits_.read();
    const auto logprobs = logprobs_.read();
    const auto top = top_.read();
    BOOST_TEST(top.front().id == untouched);
    std::vector<result> results;
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto listed = std::span(top).subspan(rows_sampled_[i].top.begin, rows_sampled_[i].top.count);
      for (const auto& each : listed) BOOST_TEST((each.id == untouched) == tasks[i].idle());
      results.push_back({tokens[i], statuses[i], logprobs[i], pairs_of(listed)});
      BOOST_TEST(last[rows_ - i] == (tasks[i].samples() ? tokens[i] : untouched));
      for (std::size_t j = width_; j < stride_; ++j) BOOST_TEST(logits[i * stride_ + j] == 77);
      if (!tasks[i].samples())
        BOOST_TEST(std::memcmp(tasks[i].logits.data(), logits.data() + i * stride_, width_ * sizeof(float)) == 0);
    }
    BOOST_TEST(last[0] == untouched);
    return results;
  }

 private:
  static void describe(const task& source, sampling_row& row, sampling_lists& lists) {
    auto history = source.history;
    const auto slot = row.slot;
    row = source.make_sampler().row_after(history, source.unknown_last >= 0, {}, lists);
    row.slot = slot;
    row.mask = {static_cast<std::uint32_t>(lists.masks.size()), static_cast<std::uint32_t>(source.mask.size())};
    lists.masks.insert(lists.masks.end(), source.mask.begin(), source.mask.end());
    row.key = source.key;
  }

  static void describe_scored(const task& source, sampling_row& row, sampling_lists& lists) {
    row.scored = source.scored;
    row.logprobs = sampled_logprobs::raw;
    row.top = {lists.top_logprobs, static_cast<std::uint32_t>(*source.params.logprobs)};
    lists.top_logprobs += row.top.count;
  }

  std::size_t rows_, width_, stride_;
  std::vector<sampling_row> rows_sampled_;
  device_array<float> logits_;
  device_array<sampling_row> sampling_;
  device_array<token_bias> biases_;
  device_array<token_count> counts_;
  device_array<std::uint64_t> masks_;
  device_array<token> last_;
  device_array<float> raw_biased_;
  device_array<float> raw_counted_;
  device_array<token> tokens_;
  device_array<sampling_status> statuses_;
  device_array<float> logprobs_;
  device_array<token_logprob> top_;
};

std::vector<result> on_device(const std::vector<task>& tasks, int gap = 0) {
  const device_stream stream;
  const device_batch batch(tasks, gap);
  batch.enqueue(stream);
  stream.wait();
  return batch.read(tasks);
}

/// Tasks of every sort, chosen at random.
class some_tasks {
 public:
  explicit some_tasks(unsigned seed) : random_(seed) {}

  task random_task(int vocabulary) {
    task task{logits(vocabulary), parameters(vocabulary)};
    for (int i = below(40); i > 0; --i) task.history.append_given(std::vector{below(vocabulary)});
    for (int i = below(40); i > 0; --i) task.history.append_generated(below(vocabulary));
    task.key = {random_(), random_(), static_cast<std::uint32_t>(random_()), static_cast<std::uint32_t>(random_() % 3)};
    if (chance(2)) task.end_tokens = {below(vocabulary), 0, vocabulary + 5};
    if (chance(3))
      task.unknown_last = chance(2) && task.history.length() > 0 ? task.history.tokens().back() : below(vocabulary);
    if (chance(3)) task.mask = mask(vocabulary);
    return task;
  }

  task scored(int vocabulary) {
    task task{logits(vocabulary), sampling_params{.logprobs = any({0, 3, cuda::max_top_logprobs})}};
    task.scored = below(vocabulary);
    return task;
  }

  /// Known tokens beside samples, some rows of the host and some padding.
  std::vector<task> mixed(int vocabulary, int count) {
    std::vector<task> rows;
    for (int i = 0; i < count; ++i) {
      auto& row = rows.emplace_back(i % 3 == 0 ? random_task(vocabulary) : scored(vocabulary));
      if (row.scored >= 0 || row.unknown_last >= 0) continue;
      row.padding = chance(4);
      row.by_host = chance(4);
    }
    return rows;
  }

  std::vector<task> several(int vocabulary, int count) {
    std::vector<task> rows;
    for (int i = 0; i < count; ++i) rows.push_back(random_task(vocabulary));
    return rows;
  }

  std::vector<float> logits(int vocabulary) {
    std::vector<float> values(static_cast<std::size_t>(vocabulary));
    const auto fill = [&](auto value) {
      for (auto& each : values) each = value();
    };
    switch (below(9)) {
      case 0:
        fill([&] { return normal(); });
        values[static_cast<std::size_t>(below(vocabulary))] = 25;
        break;
      case 1:
        fill([&] { return 3 * normal(); });
        break;
      case 2:
        fill([&] { return 0.01F * normal(); });
        break;
      case 3:
        fill([value = normal()] { return value; });
        break;
      case 4:
        fill([&] { return std::round(2 * normal()); });
        break;
      case 5:
        fill([&] { return chance(2) ? -infinity : 2 * normal(); });
        break;
      case 6:
        fill([&] { return chance(2) ? -0.0F : chance(50) ? 1e-30F * normal() : 0.0F; });
        break;
      case 7:
        fill([&] { return 1e30F * normal(); });
        break;
      default:
        fill([] { return -infinity; });
        values[static_cast<std::size_t>(below(vocabulary))] = normal();
    }
    return values;
  }

 private:
  /// Of none, one, few or half of the tokens.
  std::vector<std::uint64_t> mask(int vocabulary) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(vocabulary + 63) / 64);
    const bool half = chance(2);
    for (auto& word : words)
      if (half) word = std::uint64_t{random_()} << 32 | random_();
    for (int i = below(3); i > 0; --i) {
      const int id = below(vocabulary);
      words[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
    }
    return words;
  }

  sampling_params parameters(int vocabulary) {
    sampling_params params;
    if (chance(8)) return params;
    params.temperature = any({0.0, 1e-6, 0.3, 0.8, 1.0, 1.0, 1.0, 2.5, 1000.0});
    if (chance(2)) params.top_k = any({1, 2, 5, 50, 64, 300, 1000, 1024, 1025, 5000, vocabulary, 1 << 30});
    if (chance(2)) params.top_p = any({0.0, 0.05, 0.5, 0.5, 0.9, 0.95, 0.999, 0.9999999, 1 - 0x1p-53});
    if (chance(3)) params.min_p = any({1e-6, 0.02, 0.5, 1.0});
    if (chance(4)) params.repetition_penalty = any({0.8, 1.3, 100.0});
    if (chance(4)) params.presence_penalty = any({-0.5, 0.7, 100.0});
    if (chance(4)) params.frequency_penalty = any({-0.5, 0.3, 100.0});
    if (chance(4))
      for (int i = below(20); i > 0; --i) params.logit_bias[below(vocabulary)] = any({-double(infinity), -3.0, 4.0});
    if (chance(3)) params.min_tokens = below(60);
    if (chance(3)) params.logprobs = any({0, 1, 5, 20, 128});
    if (chance(2)) params.logprobs_mode = logprobs_mode::processed;
    return params;
  }

  template <typename T>
  T any(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  bool chance(unsigned odds) { return random_() % odds == 0; }
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  /// About normally distributed: the sum of four numbers.
  float normal() {
    const auto bits = random_();
    float sum = -510;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(bits >> (8 * i) & 255);
    return (sum + static_cast<float>(random_() % 1024) / 1024) / 148;
  }

  std::mt19937 random_;
};

BOOST_AUTO_TEST_SUITE(cuda_sample, *boost::unit_test::precondition(a_device))

void check_like_host(const std::vector<task>& tasks, int gap) {
  const auto chosen = on_device(tasks, gap);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& params = tasks[i].params;
    BOOST_TEST_CONTEXT("row " << i << " of " << tasks[i].vocabulary() << " logits, temperature " << params.temperature
                              << ", top_k " << params.top_k << ", top_p " << params.top_p << ", min_p " << params.min_p
                              << ", logprobs " << params.logprobs.value_or(-1) << " of mode "
                              << static_cast<int>(params.logprobs_mode) << ", known token " << tasks[i].scored)
    BOOST_TEST(chosen[i] == on_host(tasks[i]));
  }
}

BOOST_AUTO_TEST_CASE(tokens_are_those_of_the_cpu) {
  some_tasks some(1);
  check_like_host(some.several(1, 20), 0);
  check_like_host(some.several(63, 200), 0);
  check_like_host(some.several(63, 50), 2);
  check_like_host(some.several(1000, 300), 0);
  check_like_host(some.several(1000, 100), 1);
  check_like_host(some.several(2049, 100), 3);
  check_like_host(some.several(49152, 150), 0);
  check_like_host(some.several(128256, 100), 0);
  check_like_host(some.several(128256, 30), 1);
  check_like_host(some.several(262144, 50), 0);
  check_like_host(some.several(262208, 20), 0);
  check_like_host(some.several(cuda::max_sampled_vocabulary, 20), 0);
}

BOOST_AUTO_TEST_CASE(one_row_gives_what_the_cpu_gives_for_many_random_numbers) {
  some_tasks some(2);
  for (const auto& params :
       {sampling_params{.temperature = 1}, sampling_params{.temperature = 1.2, .top_k = 40},
        sampling_params{.temperature = 1, .top_p = 0.9}, sampling_params{.temperature = 1, .min_p = 0.05},
        sampling_params{.temperature = 1.5, .top_k = 2000, .top_p = 0.8}}) {
    std::vector<task> tasks(150, task{some.logits(5000), params});
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].key = {3, 0, static_cast<std::uint32_t>(i), 0};
    check_like_host(tasks, 0);
  }
}

BOOST_AUTO_TEST_CASE(a_row_samples_the_same_alone_and_among_others) {
  some_tasks some(3);
  const auto tasks = some.several(20001, 24);
  const auto together = on_device(tasks, 1);
  for (std::size_t i = 0; i < tasks.size(); ++i) BOOST_TEST(on_device({tasks[i]}).front() == together[i]);
}

BOOST_AUTO_TEST_CASE(a_captured_sample_follows_the_parameters_of_each_replay) {
  some_tasks some(4);
  const device_stream stream;
  auto tasks = some.several(3000, 12);
  device_batch batch(tasks, 0);
  const device_graph graph(stream, [&] { batch.enqueue(stream); });
  for (int round = 0; round < 6; ++round) {
    tasks = some.several(3000, 12);
    batch.write(tasks);
    graph.launch(stream);
    stream.wait();
    const auto chosen = batch.read(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) BOOST_TEST(chosen[i] == on_host(tasks[i]));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_sampled_from_has_a_status) {
  some_tasks some(5);
  for (const auto& params : {sampling_params{}, sampling_params{.temperature = 1},
                             sampling_params{.temperature = 1, .top_k = 5, .top_p = 0.5}}) {
    std::vector<task> tasks(6, task{std::vector<float>(3000, 1), params});
    tasks[0].logits[2999] = not_a_number;
    tasks[1].logits[0] = infinity;
    tasks[2].logits.assign(3000, -infinity);
    tasks[3].logits.assign(3000, -infinity);
    tasks[3].logits[17] = not_a_number;
    tasks[4].params.logit_bias[5] = -infinity;
    tasks[4].logits[5] = infinity;
    tasks[5].end_tokens = {5};
    tasks[5].params.min_tokens = 3;
    tasks[5].logits[5] = infinity;
    const auto chosen = on_device(tasks);
    for (const std::size_t i : {0, 1, 3, 4}) BOOST_TEST(chosen[i] == (result{0, sampling_status::not_finite}));
    BOOST_TEST(chosen[2] == (result{0, sampling_status::nothing_left}));
    BOOST_TEST(chosen[5] == on_host(tasks[5]));
    BOOST_TEST((chosen[5].status == sampling_status::ok));
  }
}

BOOST_AUTO_TEST_CASE(known_tokens_have_the_log_probabilities_of_the_cpu) {
  some_tasks some(7);
  check_like_host(some.mixed(1, 20), 0);
  check_like_host(some.mixed(63, 100), 2);
  check_like_host(some.mixed(1000, 100), 1);
  check_like_host(some.mixed(49152, 30), 0);
  check_like_host(some.mixed(128256, 10), 3);
}

BOOST_AUTO_TEST_CASE(known_tokens_have_the_status_of_their_logits) {
  for (const int count : {0, 3, cuda::max_top_logprobs}) {
    std::vector<task> tasks(8, task{std::vector<float>(3000, 1), sampling_params{.logprobs = count}});
    for (auto& each : tasks) each.scored = 17;
    tasks[0].logits[2999] = not_a_number;
    tasks[1].logits[17] = infinity;
    tasks[2].logits.assign(3000, -infinity);
    tasks[3].logits[17] = -infinity;
    tasks[4].logits.assign(3000, -infinity);
    tasks[4].logits[17] = 2;
    tasks[5].logits.assign(3000, -infinity);
    tasks[5].logits[18] = 2;
    tasks[6].scored = -1;  // samples
    tasks[7].scored = 2999;
    check_like_host(tasks, 0);
    const auto found = on_device(tasks);
    for (const std::size_t i : {0, 1}) BOOST_TEST(found[i] == (result{0, sampling_status::not_finite}));
    BOOST_TEST(found[2] == (result{0, sampling_status::nothing_left}));
    for (const std::size_t i : {3, 5}) BOOST_TEST(found[i].logprob == -infinity);
    BOOST_TEST(found[4].logprob == 0);
    BOOST_TEST(found[5].top.size() == (count > 0 ? 1U : 0U));
  }
}

BOOST_AUTO_TEST_CASE(a_token_that_only_the_device_knows_is_counted) {
  task known{std::vector<float>(100, 1),
             sampling_params{.repetition_penalty = 2, .presence_penalty = 3, .frequency_penalty = 1}};
  known.logits[40] = 2.5;
  known.logits[41] = 2.4F;
  known.history.append_given(std::vector{41});
  auto tasks = std::vector<task>(3, known);
  tasks[1].unknown_last = 40;  // new
  tasks[2].unknown_last = 41;  // not new
  const auto chosen = on_device(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) BOOST_TEST(chosen[i] == on_host(tasks[i]));
  BOOST_TEST(chosen[0].id == 40);
  BOOST_TEST(chosen[1].id != 40);
  BOOST_TEST(chosen[2].id == 40);
}

BOOST_AUTO_TEST_CASE(rows_of_the_host_and_padding_are_left_alone) {
  some_tasks some(6);
  auto tasks = some.several(1500, 8);
  for (auto& each : tasks) each.unknown_last = -1;
  tasks[1].by_host = tasks[4].by_host = true;
  tasks[2].padding = tasks[7].padding = true;
  const auto chosen = on_device(tasks, 5);
  for (std::size_t i = 0; i < tasks.size(); ++i) BOOST_TEST(chosen[i] == on_host(tasks[i]));
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_refused) {
  const device_stream stream;
  cuda::device_samples batch{};
  batch.vocabulary = 10;
  BOOST_TEST(cuda::sample(batch, stream) == cudaSuccess);
  batch.rows = -1;
  BOOST_TEST(cuda::sample(batch, stream) == cudaErrorInvalidValue);
  batch.rows = 1;
  batch.vocabulary = cuda::max_sampled_vocabulary + 1;
  BOOST_TEST(cuda::sample(batch, stream) == cudaErrorInvalidValue);
  batch.vocabulary = 0;
  BOOST_TEST(cuda::sample(batch, stream) == cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
