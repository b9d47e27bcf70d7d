// How texts are cut and changed where Sentence Transformers' files say so. Numbers are those of Sentence Transformers.
#include "formats/checkpoint/sentence_text.hpp"

#include "../load/temporary_folder.hpp"
#include "../test_data.hpp"
#include "engine/model_engines.hpp"
#include "network/model/text_cut.hpp"

#include <cogen/model.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

using files = std::vector<std::pair<std::string, std::string>>;

/// A golden model's folder with further files.
class changed_model {
 public:
  changed_model(const std::string& name, const files& further) {
    std::filesystem::copy(golden_folder(name), folder_.path(), std::filesystem::copy_options::recursive);
    for (const auto& [file, content] : further) (void)folder_.write(file, content);
  }

  std::shared_ptr<const model> load() const { return load_model(folder_.path(), {.threads = 1}); }

 private:
  temporary_folder folder_;
};

using ids = std::vector<token>;

ids tokens_with(const files& further, const encoder_input& input, const std::string& name = "bert_tiny") {
  return changed_model(name, further).load()->tokenize(input).tokens;
}

const std::string long_text = [] {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "ab ";
  return text + "cd";
}();

void check_refused(const files& further, const std::string& part) {
  BOOST_CHECK_EXCEPTION(changed_model("bert_tiny", further).load(), load::load_error, [&](const auto& error) {
    BOOST_TEST_INFO(error.what());
    return std::string(error.what()).find(part) != std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sentence_texts)

BOOST_AUTO_TEST_CASE(the_longer_text_of_a_pair_is_cut_first) {
  // {first, second, most of the pair, kept of the first, kept of the second}
  constexpr int cases[][5]{{3, 9, 8, 2, 3},  {10, 9, 6, 2, 1},  {4, 8, 11, 4, 4},  {6, 10, 8, 2, 3},  {8, 6, 4, 1, 0},
                           {10, 1, 9, 5, 1}, {9, 11, 16, 6, 7}, {11, 6, 16, 7, 6}, {11, 9, 18, 8, 7}, {2, 5, 7, 2, 2},
                           {8, 6, 15, 6, 6}, {10, 0, 12, 9, 0}, {8, 8, 19, 8, 8},  {8, 9, 17, 7, 7},  {9, 3, 14, 8, 3}};
  for (const auto& [first, second, most, kept_first, kept_second] : cases) {
    encoder_text pair{.tokens = {100}, .second = first + 2};
    for (int i = 0; i < first; ++i) pair.tokens.push_back(i);
    pair.tokens.push_back(101);
    for (int i = 0; i < second; ++i) pair.tokens.push_back(50 + i);
    pair.tokens.push_back(102);
    nn::cut_text(pair, {.max_tokens = static_cast<std::size_t>(most), .special = {1, 1, 1}});
    ids expected{100};
    for (int i = 0; i < kept_first; ++i) expected.push_back(i);
    expected.push_back(101);
    BOOST_TEST(pair.second.value() == static_cast<int>(expected.size()));
    for (int i = 0; i < kept_second; ++i) expected.push_back(50 + i);
    expected.push_back(102);
    BOOST_TEST(pair.tokens == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(texts_are_cut_at_the_length_of_their_folder) {
  const files twelve{{"sentence_bert_config.json", R"({"max_seq_length": 12, "do_lower_case": false})"}};
  const ids expected{2, 6, 43, 6, 43, 6, 43, 6, 43, 6, 43, 3};
  BOOST_TEST(tokens_with(twelve, long_text) == expected, boost::test_tools::per_element());
  const ids nine{2, 6, 43, 6, 43, 6, 43, 6, 3};
  BOOST_TEST(tokens_with({{"tokenizer_config.json", R"({"model_max_length": 9})"}}, long_text) == nine);
  const ids end{2, 6, 43, 6, 43, 6, 43, 6, 43, 18, 45, 3};
  auto from_left = twelve;
  from_left.emplace_back("tokenizer_config.json", R"({"model_max_length": 1e30, "truncation_side": "left"})");
  BOOST_TEST(tokens_with(from_left, long_text) == end);
  std::string longest;
  for (int i = 0; i < 300; ++i) longest += "ab ";
  BOOST_TEST(tokens_with({}, longest).size() == 96u);
  BOOST_TEST(tokens_with(twelve, "ab").size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_cut_text_has_the_vector_of_sentence_transformers) {
  const changed_model changed("bert_tiny", {{"sentence_bert_config.json", R"({"max_seq_length": 12})"}});
  const auto model = changed.load();
  engine running(model, tiny_engine(*model));
  constexpr float expected[]{0.339184314F, 0.0495043695F, 0.26875639F, 0.146829844F, 0.0720258802F, -0.0422016494F};
  const std::vector<encoder_input> inputs{long_text};
  drive(running, [&]() -> net::awaitable<void> {
    const auto vectors = co_await running.async_embed(inputs);
    for (std::size_t i = 0; i < std::size(expected); ++i)
      BOOST_TEST(vectors.at(0).at(i) == expected[i], boost::test_tools::tolerance(1e-4F));
  });
}

BOOST_AUTO_TEST_CASE(pairs_are_cut_as_a_cross_encoder_cuts_them) {
  const changed_model changed("bert_scores", {{"tokenizer_config.json", R"({"model_max_length": 11})"}});
  const auto model = changed.load();
  const std::vector<encoder_input> pairs{
      text_pair{"the cat sat by the door", "how deep is the blue sea and is the sea blue"},
      text_pair{"a cat", "how deep is the blue sea and is the sea blue"},
      text_pair{"the cat sat by the door and the cat sat", "deep blue"}};
  const ids first{2, 5, 14, 16, 9, 3, 10, 11, 7, 5, 3};
  BOOST_TEST(model->tokenize(pairs[0]).tokens == first, boost::test_tools::per_element());
  engine running(model, tiny_engine(*model));
  constexpr float expected[]{1.94221449F, 0.63011831F, 2.49624038F};
  drive(running, [&]() -> net::awaitable<void> {
    const auto scores = co_await running.async_score(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      BOOST_TEST(scores.at(i) == expected[i], boost::test_tools::tolerance(1e-4F));
  });
}

BOOST_AUTO_TEST_CASE(the_default_prompt_stands_before_a_text) {
  const files prompts{{"config_sentence_transformers.json",
                       R"({"prompts": {"q": "the ", "document": ""}, "default_prompt_name": "q"})"}};
  BOOST_TEST(tokens_with(prompts, "cat") == tokens_with({}, "the cat"), boost::test_tools::per_element());
  const files idle{{"config_sentence_transformers.json", R"({"prompts": {"q": "the "}, "default_prompt_name": null})"}};
  BOOST_TEST(tokens_with(idle, "cat") == tokens_with({}, "cat"));
  check_refused({{"config_sentence_transformers.json", R"({"prompts": {}, "default_prompt_name": "x"})"}},
                "default_prompt_name");
  auto left_out = prompts;
  left_out.emplace_back("1_Pooling/config.json", R"({"pooling_mode": "mean", "include_prompt": false})");
  check_refused(left_out, "include_prompt");
}

BOOST_AUTO_TEST_CASE(settings_of_sentence_transformers_are_kept_or_refused_by_name) {
  const auto settings = [](const std::string& content) { return files{{"sentence_bert_config.json", content}}; };
  check_refused(settings(R"({"max_seq_length": 0})"), "max_seq_length");
  check_refused(settings(R"({"transformer_task": "fill-mask"})"), "transformer_task");
  check_refused(settings(R"({"query_expansion": {"length": 32}})"), "query_expansion");
  check_refused(settings(R"({"tokenizer_name_or_path": "other"})"), "tokenizer_name_or_path");
  check_refused(settings(R"({"config_args": {"rope_theta": 1}})"), "config_args");
  check_refused(settings(R"({"modality_config": {"message": {"method": "forward"}}})"), "modality_config");
  const auto saved = settings(R"({"transformer_task": "feature-extraction", "module_output_name": "token_embeddings",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "query_length": null, "max_seq_length": null, "model_args": {"trust_remote_code": true}, "do_lower_case": true})");
  BOOST_TEST(tokens_with(saved, "AB") == tokens_with({}, "ab"));
}

BOOST_AUTO_TEST_CASE(special_tokens_alone_are_never_a_text) {
  const files two{{"sentence_bert_config.json", R"({"max_seq_length": 2})"}};
  BOOST_CHECK_EXCEPTION(tokens_with(two, long_text), std::invalid_argument, [](const auto& error) {
    return std::string(error.what()).find("at most 2 tokens") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
