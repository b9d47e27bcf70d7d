// What tokenizer.json, tokenizer_config.json and GGUF metadata say, and what they must not say.
#include "mentions.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <stdexcept>

BOOST_AUTO_TEST_SUITE(tokenizer_files)
namespace {

using namespace cogen;
using namespace cogen::text;
using ids = std::vector<token>;
using strings = std::vector<std::string>;

constexpr std::string_view model = R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";

std::string file_with(std::string_view more) { return "{" + std::string(model) + std::string(more) + "}"; }

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal_of(const std::string& json, const std::string& config = "") {
  return refusal([&] { tokenizer::from_tokenizer_json(json, config); });
}

gguf_vocabulary small_vocabulary() {
  return {.model = "gpt2",
          .pre = "smollm",
          .tokens = {"a", "b", "ab", "<s>", "</s>", "<mine>"},
          .token_types = {1, 1, 1, 3, 3, 4},
          .merges = {"a b"}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_may_leave_out_everything_but_the_model) {
  const auto tokens = tokenizer::from_tokenizer_json(file_with(""));
  BOOST_TEST(tokens.encode("ab") == ids{2});
  BOOST_TEST(tokens.encode("ba") == (ids{1, 0}));
  BOOST_TEST(tokens.decode(ids{1, 0, 2}) == "b a ab");
  BOOST_TEST(tokens.size() == 3u);
  BOOST_TEST(!tokens.bos());
  BOOST_TEST(tokens.eos().empty());
  BOOST_TEST(tokens.chat_template() == "");
}

BOOST_AUTO_TEST_CASE(merges_are_pairs_or_texts) {
  auto json = R"({"model": {"vocab": {"a": 0, " ": 1, "a ": 2}, "merges": [["a", " "]]}})";
  BOOST_TEST(tokenizer::from_tokenizer_json(json).encode("a ") == ids{2});
}

BOOST_AUTO_TEST_CASE(the_configuration_names_the_beginning_the_end_and_the_template) {
  auto json =
      file_with(R"(, "added_tokens": [{"id": 3, "content": "<s>", "special": true}, {"id": 9, "content": "<e>"}])");
  auto config = R"({"bos_token": {"content": "<s>"}, "eos_token": "<e>", "chat_template": "hello"})";
  const auto tokens = tokenizer::from_tokenizer_json(json, config);
  BOOST_TEST(tokens.bos().value() == 3);
  BOOST_TEST(tokens.eos().front() == 9);
  BOOST_TEST(tokens.chat_template() == "hello");
  BOOST_TEST(tokens.size() == 10u);
  BOOST_TEST(tokens.is_special(3));
  BOOST_TEST(!tokens.is_special(9));
}

BOOST_AUTO_TEST_CASE(of_several_templates_the_default_one_counts) {
  auto config = R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})";
  BOOST_TEST(tokenizer::from_tokenizer_json(file_with(""), config).chat_template() == "d");
}

BOOST_AUTO_TEST_CASE(added_tokens_of_the_file_keep_out_of_the_merges) {
  auto json = file_with(R"(, "added_tokens": [{"id": 3, "content": "c", "special": true}])");
  const auto tokens = tokenizer::from_tokenizer_json(json);
  BOOST_TEST(tokens.encode("c").empty());
  BOOST_TEST(tokens.encode("c", {.add_special = false, .parse_special = true}) == ids{3});
}

BOOST_AUTO_TEST_CASE(added_tokens_of_the_configuration_stand_above_those_of_the_file) {
  const auto tokens = tokenizer::from_tokenizer_json(
      file_with(R"(, "added_tokens": [{"id": 3, "content": "<s>", "special": true}])"),
      R"({"added_tokens_decoder": {"9": {"content": "<new>"}, "3": {"content": "<s>", "rstrip": true, "special": true},
          "1": {"content": "b", "special": true}}})");
  const encode_options parsing{.parse_special = true};
  BOOST_TEST(tokens.encode("<s>  a<new>ab", parsing) == (ids{3, 0, 4, 0, 1}));
  BOOST_TEST((tokens.is_special(1) && tokens.is_special(3) && !tokens.is_special(4)));
  BOOST_TEST(mentions(refusal_of(file_with(""), R"({"added_tokens_decoder": {"x": {"content": "y"}}})"),
                      "added_tokens_decoder"));
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  BOOST_TEST(mentions(refusal_of("{"), "tokenizer.json: is not valid JSON at byte 1"));
  BOOST_TEST(mentions(refusal_of("[]"), "must be an object"));
  BOOST_TEST(mentions(refusal_of("{}"), "tokenizer.json.model is missing"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"type": "WordLevel"}})"), "\"WordLevel\""));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {}, "merges": []}})"), "empty"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": -1}, "merges": []}})"), "vocab.a is -1"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 1000000000}, "merges": []}})"), "1000000000"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 1.5}, "merges": []}})"), "integer"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})"), "has that id already"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 0}, "merges": ["aa"]}})"), "merges[0]"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 0}, "merges": ["a a"]}})"), "\"aa\""));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 0}, "merges": [], "unk_token": "?"}})"), "unk_token"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "/w"}})"), "/w"));
}

BOOST_AUTO_TEST_CASE(unknown_steps_are_named) {
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "normalizer": {"type": "Nmt"})")), "normalizer.type is \"Nmt\""));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "pre_tokenizer": {"type": "FixedLength"})")), "\"FixedLength\""));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "decoder": {"type": "CTC"})")), "\"CTC\""));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "post_processor": {"type": "Odd"})")), "\"Odd\""));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "post_processor": {"type": "BertProcessing", "cls": ["a"]})")),
                      "post_processor.cls"));
  auto split = R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": ")";
  auto rest = [](std::string_view behavior) { return R"("}, "behavior": ")" + std::string(behavior) + "\"}]}"; };
  BOOST_TEST(mentions(refusal_of(file_with(split + std::string("a") + rest("Sideways"))), "Sideways"));
  BOOST_TEST(mentions(refusal_of(file_with(split + std::string("(") + rest("Isolated"))), "malformed"));
}

BOOST_AUTO_TEST_CASE(refusals_name_the_key_the_value_and_what_is_known) {
  BOOST_TEST(refusal_of(R"({"model": {"type": "WordLevel"}})") ==
             "tokenizer.json.model.type is \"WordLevel\", but cogen knows BPE, Unigram and WordPiece");
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "normalizer": {"type": "Nmt"})")),
                      "cogen knows Sequence, Replace, Prepend, Strip, BertNormalizer, Precompiled, NFC, NFD"));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "pre_tokenizer": {"type": "FixedLength"})")), "UnicodeScripts"));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "decoder": {"type": "CTC"})")), "WordPiece"));
  BOOST_TEST(
      mentions(refusal_of(file_with(R"(, "decoder": {"type": "Metaspace", "replacement": ""})")), "replacement"));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "decoder": {"type": "Strip", "content": "x", "start": 1, "stop": 0})")),
                      "content is \"x\""));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "decoder": {"type": "Strip", "content": " ", "start": 2, "stop": 0})")),
                      "start is 2"));
  BOOST_TEST(mentions(refusal_of(file_with(R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "A?"})")),
                      "it is not Base64"));
  BOOST_TEST(
      mentions(refusal_of(file_with(R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="})")),
               "charsmap of 4 bytes"));
}

BOOST_AUTO_TEST_CASE(mistakes_of_unigram_and_word_piece_models_are_named) {
  BOOST_TEST(mentions(refusal_of(R"({"model": {"type": "Unigram", "vocab": [["a"]]}})"), "vocab[0]"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})"), "a score is a number"));
  BOOST_TEST(
      mentions(refusal_of(R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}})"), "unknown token"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"type": "Unigram", "vocab": []}})"), "empty"));
  BOOST_TEST(
      mentions(refusal_of(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?"}})"), "unk_token"));
  BOOST_TEST(mentions(refusal_of(R"({"model": {"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": -1}})"),
                      "max_input_chars_per_word is -1"));
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded) {
  std::string steps;
  for (int i = 0; i < 10'000; ++i) steps += R"({"type": "Sequence", "normalizers": [)";
  BOOST_TEST(mentions(refusal_of(file_with(", \"normalizer\": " + steps)), "is not valid JSON"));
}

BOOST_AUTO_TEST_CASE(gguf_types_say_which_tokens_are_matched_in_the_text) {
  auto fields = small_vocabulary();
  fields.bos = 3;
  fields.eos = 4;
  fields.eot = 3;
  fields.unknown = 0;
  fields.add_bos = true;
  fields.chat_template = "hello";
  const auto tokens = tokenizer::from_gguf(fields);
  BOOST_TEST(tokens.is_special(3));
  BOOST_TEST(!tokens.is_special(5));
  BOOST_TEST(tokens.encode("<mine>ab") == (ids{5, 2}));
  BOOST_TEST(tokens.encode("ab", {.add_special = true, .parse_special = false}) == (ids{3, 2}));
  BOOST_TEST(tokens.eos() == (ids{3, 4}), boost::test_tools::per_element());
  BOOST_TEST(tokens.chat_template() == "hello");
}

BOOST_AUTO_TEST_CASE(gguf_mistakes_are_named) {
  auto refused = [](const std::function<void(gguf_vocabulary&)>& spoil) {
    auto fields = small_vocabulary();
    spoil(fields);
    return refusal([&] { tokenizer::from_gguf(fields); });
  };
  BOOST_TEST(mentions(refused([](auto& f) { f.model = "rwkv"; }), "\"rwkv\""));
  BOOST_TEST(mentions(refused([](auto& f) { f.pre = "runes"; }), "\"runes\""));
  BOOST_TEST(mentions(refused([](auto& f) { f.token_types.pop_back(); }), "token_type has 5"));
  BOOST_TEST(mentions(refused([](auto& f) { f.merges.push_back("x"); }), "merges[1]"));
  BOOST_TEST(mentions(refused([](auto& f) { f.merges.push_back("a z"); }), "\"az\""));
  BOOST_TEST(mentions(refused([](auto& f) { f.bos = 6; }), "6"));
  BOOST_TEST(mentions(refused([](auto& f) { f.add_bos = true; }), "bos_token_id is missing"));
  BOOST_TEST(mentions(refused([](auto& f) { f.tokens.clear(), f.token_types.clear(), f.merges.clear(); }), "empty"));
  BOOST_TEST(refused([](auto& f) { f.model = "rwkv"; }) ==
             "tokenizer.ggml.model is \"rwkv\", but cogen knows gpt2, llama, t5, bert, gemma4");
  BOOST_TEST(mentions(refused([](auto& f) { f.pre = "runes"; }), "tokenizer.ggml.pre is \"runes\", but cogen knows"));
  BOOST_TEST(mentions(refused([](auto& f) { f.model = "llama"; }), "tokenizer.ggml.scores is missing"));
  BOOST_TEST(mentions(refused([](auto& f) { f.model = "t5", f.scores = {1}; }), "tokenizer.ggml.scores has 1"));
  BOOST_TEST(mentions(refused([](auto& f) { f.model = "t5", f.scores.assign(6, NAN); }), "token 0 is not a number"));
  BOOST_TEST(mentions(refused([](auto& f) {
                        f.model = "llama", f.scores.assign(6, 0);
                        f.tokens[0] = std::string(2049, 'a');
                      }),
                      "token 0 has 2049 bytes"));
  BOOST_TEST(mentions(refused([](auto& f) {
                        f.model = "t5", f.scores.assign(6, 0);
                        f.precompiled_charsmap = "abc";
                      }),
                      "charsmap of 3 bytes"));
}

gguf_vocabulary fields_of(std::string_view kind, std::string_view pre) {
  auto fields = small_vocabulary();
  fields.model = kind;
  fields.pre = pre;
  fields.bos = 3;
  fields.eos = 4;
  fields.scores.assign(6, 0);
  return fields;
}

BOOST_AUTO_TEST_CASE(gguf_files_that_do_not_say_so_begin_as_their_model_is_used_to) {
  auto encoded = [](std::string_view kind, std::string_view pre) {
    return tokenizer::from_gguf(fields_of(kind, pre)).encode("", {.add_special = true});
  };
  BOOST_TEST(encoded("gpt2", "gpt-2").empty());
  BOOST_TEST(encoded("gpt2", "llama-bpe") == ids{3});
  BOOST_TEST(encoded("gpt2", "tekken") == ids{3});
  BOOST_TEST(encoded("llama", "") == ids{3});
  BOOST_TEST(encoded("t5", "") == ids{4});
  BOOST_TEST(encoded("bert", "") == (ids{3, 4}));
  BOOST_TEST(encoded("gemma4", "") == ids{3});
}

BOOST_AUTO_TEST_CASE(gguf_files_join_pairs_as_their_encoder_reads_them) {
  auto joined = [](std::string_view kind, std::string_view pre) {
    auto fields = fields_of(kind, pre);
    fields.add_bos = fields.add_eos = true;
    const auto pair = tokenizer::from_gguf(fields).encode(text_pair{});
    BOOST_TEST(pair.second.value() == std::ssize(pair.tokens) - 1);
    return pair.tokens;
  };
  BOOST_TEST(joined("bert", "") == (ids{3, 4, 4}));
  BOOST_TEST(joined("gpt2", "modern-bert") == (ids{3, 4, 4}));
  BOOST_TEST(joined("gpt2", "roberta-bpe") == (ids{3, 4, 4, 4}));
  BOOST_TEST(joined("t5", "default") == (ids{3, 4, 4, 4}));
}

BOOST_AUTO_TEST_CASE(each_known_gguf_pre_tokenizer_splits_digits_its_own_way) {
  auto pieces = [](std::string_view pre) {
    strings tokens{"1", "11", "111", "1111"};
    strings merges{"1 1", "11 1", "11 11"};
    const auto loaded =
        tokenizer::from_gguf({.model = "gpt2", .pre = std::string(pre), .tokens = tokens, .merges = merges});
    return loaded.encode("1111").size();
  };
  BOOST_TEST(pieces("gpt-2") == 1u);
  BOOST_TEST(pieces("smollm") == 4u);
  BOOST_TEST(pieces("llama-bpe") == 2u);
  BOOST_TEST(pieces("qwen2") == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
