// How the authors of a model want it to generate.
#include "memory_file.hpp"
#include "refusal.hpp"
#include "temporary_folder.hpp"
#include "tiny_model.hpp"

#include <cogen/load/model_config.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(generation_defaults_of_files)
namespace {

using namespace cogen::load;

generation_defaults in_json(std::string_view text) {
  const temporary_folder folder;
  return read_generation_defaults(folder.write("settings.json", text));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_json_file_says_what_its_authors_want) {
  const auto found = in_json(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": null,
      "repetition_penalty": 1.05, "max_new_tokens": 2048, "eos_token_id": [1, 2], "transformers_version": "5.0"})");
  BOOST_TEST(found.temperature.value() == 0.6);
  BOOST_TEST(found.top_k.value() == 20);
  BOOST_TEST(found.top_p.value() == 0.95);
  BOOST_TEST(!found.min_p.has_value());
  BOOST_TEST(found.repetition_penalty.value() == 1.05);
  BOOST_TEST(found.max_tokens.value() == 2048);
  BOOST_TEST((in_json("{}") == generation_defaults()));
  BOOST_TEST(in_json(R"({"top_k": -1})").top_k.value() == 0);
}

BOOST_AUTO_TEST_CASE(a_folder_has_a_file_or_says_nothing) {
  const temporary_folder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("generation_config.json", R"({"temperature": 0.25})");
  BOOST_TEST(read_generation_defaults(folder.path()).temperature.value() == 0.25);
}

BOOST_AUTO_TEST_CASE(a_gguf_file_has_keys_of_its_own) {
  auto draft = tiny_llama();
  BOOST_TEST((read_generation_defaults(memory_file(draft.bytes()).path()) == generation_defaults()));
  for (auto&& entry : {entry_f32("general.sampling.temp", 0.5F), entry_u32("general.sampling.top_k", 7),
                       entry_f32("general.sampling.top_p", 0.75F), entry_f32("general.sampling.min_p", 0.125F),
                       entry_f32("general.sampling.penalty_repeat", 1.5F)})
    draft.entries.push_back(entry);
  const memory_file written(draft.bytes());
  BOOST_TEST((
      read_generation_defaults(written.path()) ==
      generation_defaults{
          .temperature = 0.5, .top_p = 0.75, .min_p = 0.125, .repetition_penalty = 1.5, .top_k = 7, .max_tokens = {}}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_by_file_key_and_value) {
  for (const auto& [text, key] : {std::pair{R"({"temperature": -1})", "temperature is -1"},
                                  {R"({"temperature": "hot"})", "temperature"},
                                  {R"({"top_p": 1.5})", "top_p is 1.5"},
                                  {R"({"top_k": -2})", "top_k is -2"},
                                  {R"({"min_p": -0.5})", "min_p is -0.5"},
                                  {R"({"repetition_penalty": 0})", "repetition_penalty is 0"},
                                  {R"({"max_new_tokens": 0})", "max_new_tokens is 0"},
                                  {"[", "settings.json"}}) {
    const auto said = refusal([&] { in_json(text); });
    BOOST_TEST(says(said, key), said);
    BOOST_TEST(says(said, "settings.json"), said);
  }
  BOOST_TEST(says(refusal([] { read_generation_defaults("/nowhere/at/all.json"); }), "/nowhere/at/all.json"));
}

BOOST_AUTO_TEST_SUITE_END()
