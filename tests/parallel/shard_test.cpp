// What ranks have of a model, and what they tell each other.
#include "engine/runner/leading_runner.hpp"
#include "engine/runner/rank_snapshot.hpp"
#include "engine/runner/step_message.hpp"
#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/models/pipeline_stage.hpp"
#include "network/models/tensor_shards.hpp"
#include "network/weights/matrix_rows.hpp"
#include "test_data.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cogen {
namespace {

using models::attention_spec;

models::model_spec model_of(attention_spec attention, std::int64_t width, std::int64_t layers = 1) {
  models::model_spec spec;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    spec.blocks.push_back({.part = attention, .prefix = {}});
    spec.blocks.push_back({.part = models::mlp_spec{.intermediate = width}, .prefix = {}});
  }
  return spec;
}

attention_spec heads(int queries, int keys) {
  attention_spec spec;
  spec.heads = queries;
  spec.kv_heads = keys;
  spec.head_dim = 64;
  spec.kv = {.kv_heads = keys, .head_dim = 64};
  return spec;
}

const attention_spec& attention_in(const models::model_spec& spec) {
  return std::get<attention_spec>(spec.blocks.front().part);
}

BOOST_AUTO_TEST_SUITE(shards)

// Every query belongs to one rank, beside the key head that it belongs to.
BOOST_AUTO_TEST_CASE(ranks_share_all_heads) {
  for (const auto& [queries, keys] : {std::pair{9, 3}, {32, 8}, {8, 8}, {16, 1}, {12, 2}, {5, 5}})
    for (int ranks = 2; ranks <= std::min(queries, 9); ++ranks) {
      const int group = queries / keys;
      std::int64_t next = 0;
      std::set<std::int64_t> key_heads;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto spec = models::shard_of(model_of(heads(queries, keys), 512), 1000, {rank, ranks}, 32);
        const auto& own = attention_in(spec);
        BOOST_TEST_CONTEXT(queries << " queries, " << keys << " keys, rank " << rank << " of " << ranks) {
          BOOST_TEST(own.q_shard.first == next);
          BOOST_TEST(own.heads >= 1);
          BOOST_TEST(own.kv.kv_heads == own.kv_heads);
          BOOST_TEST(own.heads % own.kv_heads == 0);
          for (int head = 0; head < own.heads; ++head) {
            const auto key = own.kv_shard.first + head / (own.heads / own.kv_heads);
            BOOST_TEST((own.q_shard.first + head) / group == key);
            key_heads.insert(key);
          }
        }
        next += own.heads;
      }
      BOOST_TEST(next == queries);
      BOOST_TEST(static_cast<int>(key_heads.size()) == keys);
    }
}

BOOST_AUTO_TEST_CASE(columns_are_split_at_blocks_where_they_can_be) {
  const auto columns = [](std::int64_t width, int ranks, std::int64_t unit) {
    std::vector<std::int64_t> firsts;
    for (int rank = 0; rank < ranks; ++rank)
      firsts.push_back(std::get<models::mlp_spec>(
                           models::shard_of(model_of(heads(8, 8), width), 1000, {rank, ranks}, unit).blocks[1].part)
                           .columns.first);
    return firsts;
  };
  BOOST_TEST(columns(1536, 4, 256) == (std::vector<std::int64_t>{0, 256, 768, 1024}), boost::test_tools::per_element());
  BOOST_TEST(columns(1536, 2, 32) == (std::vector<std::int64_t>{0, 768}), boost::test_tools::per_element());
  BOOST_TEST(columns(100, 4, 32) == (std::vector<std::int64_t>{0, 25, 50, 75}), boost::test_tools::per_element());
}

// Of every matrix of a file, quantized ones too, the columns that a rank reads are those of the whole rows.
BOOST_AUTO_TEST_CASE(columns_are_read_as_they_are_stored) {
  for (const auto* golden : {"llama_gguf", "llama_bfloat16", "llama_default"}) {
    const load::checkpoint files(test::golden_folder(golden));
    int cut_blocks = 0;
    for (const auto& name : files.weight_names()) {
      const auto whole = files.find(name).value();
      if (whole.shape().size() != 2) continue;
      const auto rows = whole.rows(), columns = whole.columns(), block = layout(whole.type()).elements;
      std::vector<float> values(static_cast<std::size_t>(rows * columns));
      whole.read_rows_as_float(0, rows, values);
      for (const auto& [first, count] :
           {std::pair{columns / 2, columns / 2}, {std::int64_t{0}, columns / 2}, {columns / 3, columns / 4}}) {
        const weights::matrix_rows part(
            files, {.name = name, .rows = rows, .stored_inputs = columns, .first_input = first}, count);
        const bool is_aligned = first % block == 0 && count % block == 0;
        cut_blocks += is_aligned ? 0 : 1;
        BOOST_TEST((part.type() == (is_aligned ? whole.type() : element_type::f32)));
        std::vector<float> as_float(static_cast<std::size_t>(rows * count)), decoded(as_float.size());
        part.read_as_float(0, rows, as_float);
        std::vector<std::byte> stored(static_cast<std::size_t>(rows) * part.row_bytes());
        part.read(0, rows, stored);
        load::dequantize(part.type(), stored, decoded);
        BOOST_TEST((decoded == as_float), name);
        for (std::int64_t row = 0; row < rows; ++row)
          BOOST_TEST(std::equal(as_float.begin() + row * count, as_float.begin() + (row + 1) * count,
                                values.begin() + row * columns + first),
                     name << ", row " << row);
      }
    }
    if (std::string(golden) == "llama_gguf") BOOST_TEST(cut_blocks > 0);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_split_stays_whole) {
  auto normed = heads(8, 8);
  normed.qk_norm = models::qk_norm_spec{.over = models::qk_norm_spec::scope::width};
  auto adapted = heads(8, 8);
  adapted.adapters.push_back({.rank = 4, .down = "a", .up = "b"});
  for (const auto& attention : {normed, adapted, heads(2, 1)}) {
    const auto spec = models::shard_of(model_of(attention, 2), 3, {1, 4}, 32);
    BOOST_TEST(!attention_in(spec).q_shard);
    BOOST_TEST(attention_in(spec).heads == attention.heads);
    BOOST_TEST(!std::get<models::mlp_spec>(spec.blocks[1].part).columns);
    BOOST_TEST(!spec.vocabulary);
  }
}

BOOST_AUTO_TEST_CASE(stages_have_all_layers_in_order) {
  for (const int layers : {4, 7, 30})
    for (const int stages : {2, 3, 4}) {
      std::size_t blocks = 0;
      for (int stage = 0; stage < stages; ++stage) {
        const auto own = models::stage_of(model_of(heads(8, 8), 512, layers), {stage, stages});
        BOOST_TEST(std::holds_alternative<attention_spec>(own.blocks.front().part));
        BOOST_TEST(own.blocks.size() / 2 >= static_cast<std::size_t>(layers / stages));
        blocks += own.blocks.size();
      }
      BOOST_TEST(blocks == static_cast<std::size_t>(2 * layers));
    }
  BOOST_CHECK_THROW(models::stage_of(model_of(heads(8, 8), 512, 2), {0, 3}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(layers_that_share_keys_stay_together) {
  auto spec = model_of(heads(8, 8), 512, 4);
  std::get<attention_spec>(spec.blocks[6].part).shared_kv = 2;
  for (const int shared : {2, 1}) {
    std::get<attention_spec>(spec.blocks[6].part).shared_kv = shared;
    const auto first = models::stage_of(spec, {0, 2}), second = models::stage_of(spec, {1, 2});
    BOOST_TEST(first.blocks.size() == static_cast<std::size_t>(2 * shared));
    BOOST_TEST(second.blocks.size() == static_cast<std::size_t>(8 - 2 * shared));
    BOOST_TEST(std::get<attention_spec>(second.blocks[second.blocks.size() - 2].part).shared_kv.value() == 0);
  }
  std::get<attention_spec>(spec.blocks[6].part).shared_kv = 0;
  BOOST_CHECK_THROW(models::stage_of(spec, {1, 2}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(messages)

scheduler::step some_step() {
  scheduler::step step;
  step.number = 7;
  step.drops = {scheduler::swap_id{3}};
  step.clears = {1, 2};
  step.truncations = {{4, 5}};
  step.releases = {{6, 7}};
  step.forks = {{.slot = 1, .parent = 2, .shared = 32, .source = 3, .end = 40}};
  step.dropped_checkpoints = {{1, 2, false}};
  step.checkpoints = {{3, 4, true}};
  step.swap_outs = {{scheduler::sequence_id{9}, 1, scheduler::swap_id{8}, 20, true}};
  step.swap_ins = {{scheduler::sequence_id{9}, 2, scheduler::swap_id{7}, 21}};
  step.tokens = {1, 2, 3};
  auto& row = step.rows.emplace_back();
  row = {.sequence = scheduler::sequence_id{9},
         .slot = 2,
         .count = 3,
         .wanted = scheduler::output::sample,
         .chained = false,
         .first = 0,
         .prefill = true};
  row.drafts = 1;
  row.scored = true;
  row.encoder_input = std::make_shared<const std::vector<token>>(std::vector<token>{5, 6});
  return step;
}

BOOST_AUTO_TEST_CASE(a_step_arrives_as_it_was_sent) {
  const auto sent = some_step();
  std::vector<std::byte> bytes;
  detail::message_writer writer(bytes);
  detail::write_step(sent, writer);
  scheduler::step got;
  detail::message_reader reader(bytes);
  detail::read_step(reader, got);
  BOOST_TEST(reader.rest().empty());
  std::vector<std::byte> again;
  detail::message_writer once_more(again);
  detail::write_step(got, once_more);
  BOOST_TEST((bytes == again));
  BOOST_TEST(got.tokens == sent.tokens, boost::test_tools::per_element());
  BOOST_TEST(got.swap_outs.front().is_copy);
  BOOST_TEST(got.rows.front().outputs() == sent.rows.front().outputs());
  BOOST_TEST(*got.rows.front().encoder_input == (std::vector<token>{5, 6}), boost::test_tools::per_element());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    detail::message_reader cut(std::span<const std::byte>(bytes).first(length));
    BOOST_CHECK_THROW(detail::read_step(cut, got), std::runtime_error);
  }
}

/// Bytes in memory.
class plain_snapshot final : public kv_snapshot {
 public:
  explicit plain_snapshot(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::size_t size() const noexcept override { return bytes_.size(); }
  int encoder_input() const noexcept override { return 3; }
  snapshot_reader read() const override {
    return [rest = std::span(bytes_)]() mutable { return std::exchange(rest, {}); };
  }

 private:
  std::vector<std::byte> bytes_;
};

BOOST_AUTO_TEST_CASE(a_snapshot_has_the_parts_of_all_ranks) {
  const auto bytes = [](std::size_t count, int value) { return std::vector<std::byte>(count, std::byte(value)); };
  const detail::rank_snapshot whole(std::make_shared<plain_snapshot>(bytes(10, 1)), {bytes(0, 2), bytes(7, 3)});
  std::vector<std::byte> content;
  const auto read = whole.read();
  for (auto piece = read(); !piece.empty(); piece = read()) content.insert(content.end(), piece.begin(), piece.end());
  BOOST_TEST(content.size() == whole.size());
  const auto parts = detail::rank_parts(content, 3);
  BOOST_REQUIRE(parts.size() == 3u);
  BOOST_TEST(std::ranges::equal(parts[0], bytes(10, 1)));
  BOOST_TEST(parts[1].empty());
  BOOST_TEST(std::ranges::equal(parts[2], bytes(7, 3)));
  content.pop_back();
  BOOST_CHECK_THROW(detail::rank_parts(content, 3), std::runtime_error);
  content.resize(content.size() + 2);
  BOOST_CHECK_THROW(detail::rank_parts(content, 3), std::runtime_error);
  BOOST_CHECK_THROW(detail::rank_parts(std::span(content).first(20), 3), std::runtime_error);
}

/// Notes the ends of swaps.
class noted_swaps final : public swap_listener {
 public:
  void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept override {
    ended[static_cast<std::uint64_t>(name)] = static_cast<bool>(error);
  }
  void post_to_engine_thread(std::function<void()>) noexcept override {}

  std::map<std::uint64_t, bool> ended;  // whether it failed
};

BOOST_AUTO_TEST_CASE(a_swap_has_failed_where_one_rank_could_not) {
  const scheduler::swap_id first{1}, second{2}, third{3};
  noted_swaps heard;
  detail::ranked_swaps swaps;
  swaps.hold(heard);
  swaps.on_swap_done(first, nullptr);
  swaps.on_swap_done(second, nullptr);
  BOOST_TEST(heard.ended.empty());
  swaps.release({second, third});
  BOOST_TEST((heard.ended == std::map<std::uint64_t, bool>{{1, false}, {2, true}}));
  swaps.on_swap_done(third, nullptr);  // ends later than the step
  BOOST_TEST(heard.ended.at(3));
  BOOST_TEST((swaps.take_failed() == std::vector{second, third}));
  BOOST_TEST(swaps.take_failed().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen
