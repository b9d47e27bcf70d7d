// The order in which blocks run, with operators that only write down what they are asked for.
#include "network/nn/blocks.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

struct names {
  using rows = std::string;
  using projection = std::string;
  using norm = std::string;
  struct heads {
    static int qkv_width() { return 0; }
  };
  using block_part = std::variant<parts::attention<names>, parts::mlp<names>, parts::linear<names>>;
};

parts::block<names> attention(const std::string& name, bool parallel = false) {
  return {.part = parts::attention<names>{.qkv = name, .heads = {}, .output = name, .layer = 0},
          .pre_norm = {},
          .after = {},
          .parallel = parallel};
}

parts::block<names> mlp(const std::string& name, bool parallel = false) {
  return {.part = parts::mlp<names>{.up = name, .activation = {}, .intermediate = 0, .down = name},
          .pre_norm = {},
          .after = {},
          .parallel = parallel};
}

parts::block<names> linear(const std::string& name) {
  return {.part = parts::linear<names>{.product = name, .outputs = 0}, .pre_norm = {}, .after = {}, .parallel = false};
}

parts::block<names> passing(parts::block<names> block, models::feed mode = models::feed::result) {
  block.feeds_next = mode;
  return block;
}

/// Rows are called after what has become of them: "x", "x'" once the wanted ones are kept.
class recorder {
 public:
  explicit recorder(bool wants_rows = true) : wants_rows_(wants_rows) {}

  std::vector<std::string> calls;

  static int scratch() { return 0; }
  bool is_empty(const std::string& rows) const { return !wants_rows_ && rows.ends_with('\''); }
  static std::string keep(const std::string& rows) { return rows + "'"; }

  void keep_embeddings(const std::string& x) { calls.push_back("keep embeddings " + x); }
  static std::string beside_embeddings(const std::string& x) { return x + "|e"; }
  static std::string norm_linear(const std::string& x, const std::string&, const std::string& layer, int) {
    return layer + "(" + x + ")";
  }
  std::string attend(const names::heads&, int, const std::string& qkv) {
    calls.push_back("attend " + qkv);
    return qkv;
  }
  std::string norm_activated(const std::string& x, const std::string&, const std::string& layer,
                             const parts::activation&, std::int64_t) {
    calls.push_back("activate " + layer + "(" + x + ")");
    return layer + "(" + x + ")";
  }
  void linear_add(const std::string& y, const std::string&, const parts::residual<std::string>&, const std::string& x) {
    calls.push_back("add " + y + " to " + x);
  }
  static std::string zeros_like(const std::string& x) { return "0 for " + x; }
  void add_rows(const std::string& rows, const parts::residual<std::string>& residual, const std::string& x) {
    calls.push_back("add " + residual.after + "(" + rows + ") to " + x);
  }

 private:
  bool wants_rows_;
};

void check(std::vector<parts::block<names>> blocks, const std::vector<std::string>& expected, bool wants_rows = true) {
  recorder ops(wants_rows);
  const nn::blocks<names> network(std::move(blocks));
  BOOST_TEST(network.run(ops, "x") == "x'");
  BOOST_TEST(ops.calls == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blocks)

BOOST_AUTO_TEST_CASE(behind_the_last_attention_only_wanted_rows_go_on) {
  check({attention("a"), mlp("m"), attention("b"), mlp("n")},
        {"attend a(x)", "add a(x) to x", "activate m(x)", "add m(x) to x", "attend b(x)", "add b(x)' to x'",
         "activate n(x')", "add n(x') to x'"});
}

BOOST_AUTO_TEST_CASE(parallel_blocks_all_read_x_before_one_of_them_adds_to_it) {
  check({attention("a"), mlp("m", true), attention("b"), mlp("n", true)},
        {"attend a(x)", "activate m(x)", "add m(x) to x", "add a(x) to x", "attend b(x)", "activate n(x')",
         "add n(x') to x'", "add b(x)' to x'"});
}

BOOST_AUTO_TEST_CASE(parallel_blocks_that_both_mix_tokens_read_all_rows) {
  check({attention("a"), attention("b", true), mlp("m")},
        {"attend a(x)", "attend b(x)", "add b(x)' to x'", "add a(x)' to x'", "activate m(x')", "add m(x') to x'"});
}

BOOST_AUTO_TEST_CASE(an_attention_is_not_parallel_to_a_feed_forward_before_it) {
  BOOST_CHECK_THROW(nn::blocks<names>({mlp("m"), attention("a", true)}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(without_wanted_rows_nothing_runs_behind_the_last_attention) {
  check({attention("a"), mlp("m"), attention("b"), mlp("n")},
        {"attend a(x)", "add a(x) to x", "activate m(x)", "add m(x) to x", "attend b(x)"}, false);
}

BOOST_AUTO_TEST_CASE(joined_blocks_add_their_results_before_x_gets_them) {
  auto first = mlp("m");
  first.shared_norm = parts::residual<std::string>{.after = "norm"};
  check({attention("a"), first, mlp("n", true), mlp("o")},
        {"attend a(x)", "add a(x)' to x'", "activate m(x')", "activate n(x')", "add n(x') to 0 for x'",
         "add m(x') to 0 for x'", "add norm(0 for x') to x'", "activate o(x')", "add o(x') to x'"});
}

BOOST_AUTO_TEST_CASE(a_block_that_mixes_tokens_is_not_joined) {
  auto first = attention("a");
  first.shared_norm.emplace();
  BOOST_CHECK_THROW(nn::blocks<names>({first, mlp("m", true)}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_a_block_passes_on_is_read_by_the_next_alone) {
  check({passing(attention("a")), passing(mlp("m")), passing(linear("l"), models::feed::sum), attention("b"), mlp("n")},
        {"attend a(x)", "add a(x) to 0 for x", "activate m(0 for x)", "add m(0 for x) to 0 for x",
         "add (l(0 for x)) to 0 for x", "add (x) to 0 for x", "attend b(0 for x)", "add b(0 for x)' to x'",
         "activate n(x')", "add n(x') to x'"});
}

BOOST_AUTO_TEST_CASE(only_wanted_rows_of_the_last_attention_are_fed_to_the_next) {
  check({passing(attention("a")), mlp("m")},
        {"attend a(x)", "add a(x)' to 0 for x'", "activate m(0 for x')", "add m(0 for x') to x'"});
  check({passing(attention("a")), mlp("m")}, {"attend a(x)"}, false);
}

BOOST_AUTO_TEST_CASE(a_block_passes_its_result_on_to_one_other) {
  BOOST_CHECK_THROW(nn::blocks<names>({mlp("m"), passing(mlp("n"))}), std::invalid_argument);
  BOOST_CHECK_THROW(nn::blocks<names>({passing(mlp("m")), mlp("n", true)}), std::invalid_argument);
  BOOST_CHECK_THROW(nn::blocks<names>({passing(mlp("m")), mlp("n"), mlp("o", true)}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(embeddings_are_kept_where_attention_reads_them) {
  auto later = attention("b");
  std::get<parts::attention<names>>(later.part).reads_embeddings = true;
  check({attention("a"), later},
        {"keep embeddings x", "attend a(x)", "add a(x) to x", "attend b(x|e)", "add b(x|e)' to x'"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
