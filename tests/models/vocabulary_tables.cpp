// Embeddings and output matrices of every golden: stored side by side or one instead of the other, whatever the
// configuration says of them, and with fewer tokens.
#include "../load/weights_file.hpp"
#include "golden_copy.hpp"
#include "histories.hpp"
#include "network/models/families.hpp"
#include "network/weights/named_tensors.hpp"
#include "some_models.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

/// Names of an embedding and a head, as a checkpoint has them.
struct table_names {
  std::string embedding, head;
};

models::model_spec spec_of(const load::checkpoint& files) {
  return models::family_named(files.family())(files.fields(), files.config());
}

table_names names_in(const std::filesystem::path& folder) {
  const load::checkpoint files(folder);
  const auto spec = spec_of(files);
  table_names names{spec.embedding.names.front() + ".weight", spec.head.names.front() + ".weight"};
  if (!files.find(names.embedding) && names.embedding.starts_with(spec.base))
    names.embedding.erase(0, spec.base.size());
  return names;
}

bool is_one_table(const std::filesystem::path& folder) {
  const load::checkpoint files(folder);
  const auto spec = spec_of(files);
  weights::named_tensors tensors(files);
  tensors.expect(spec);
  return tensors.first_of(spec.head.names) == tensors.first_of(spec.embedding.names);
}

/// A golden's folder with weights and a configuration that can be altered; the configuration of the text model, where
/// that has one of its own, as the whole.
class altered_copy : public golden_copy {
 public:
  using golden_copy::golden_copy;

  void set(const std::function<void(boost::json::object&)>& change) const {
    alter_config([&](boost::json::object& config) {
      change(config);
      if (auto* text = config.if_contains("text_config")) change(text->as_object());
    });
  }
  std::vector<stored_tensor> weights() const { return read_weights(path() / "model.safetensors"); }
  void write(const std::vector<stored_tensor>& weights) const { write_weights(path() / "model.safetensors", weights); }
};

void tie(const altered_copy& folder) {
  folder.set([](boost::json::object& config) {
    config["tie_word_embeddings"] = true;
    if (config.contains("tie_embedding")) config["tie_embedding"] = true;
  });
}

auto named(std::vector<stored_tensor>& weights, const std::string& name) {
  return std::ranges::find(weights, name, &stored_tensor::name);
}

/// Goldens of decoders, in one safetensors file each.
std::vector<std::string> decoders() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder(""))) {
    if (!std::filesystem::exists(entry.path() / "model.safetensors")) continue;
    const auto spec = spec_of(load::checkpoint(entry.path()));
    if (!spec.encoder && !spec.pooling && !models::is_encoder_only(spec)) found.push_back(entry.path().filename());
  }
  std::ranges::sort(found);
  return found;
}

logit_rows logits_of(const std::filesystem::path& folder) {
  const auto model = load_model(folder, {.threads = 1});
  workspace space;
  return run_alone(*model, {1, 17, 5, 42, 3}, space);
}

/// With a head of the embedding's numbers, and with the head alone.
void check_tied(const std::string& golden, const table_names& names) {
  const altered_copy folder(golden);
  tie(folder);
  auto weights = folder.weights();
  const auto table = named(weights, names.embedding);
  BOOST_REQUIRE(table != weights.end());
  const auto reference = logits_of(folder.path());
  auto head = *table;
  head.name = names.head;
  weights.push_back(head);
  folder.write(weights);
  BOOST_TEST((logits_of(folder.path()) == reference), "a head of the same numbers changes logits");
  BOOST_TEST(is_one_table(folder.path()));
  weights.erase(named(weights, names.embedding));
  folder.write(weights);
  BOOST_TEST((logits_of(folder.path()) == reference), "a head instead of the embedding changes logits");
}

void check_untied(const std::string& golden) {
  const altered_copy folder(golden);
  tie(folder);
  BOOST_TEST((logits_of(folder.path()) == logits_of(golden_folder(golden))), "the stored head is not used");
  BOOST_TEST(!is_one_table(folder.path()));
}

/// Without the last tokens, an odd number of which stays.
void check_fewer_tokens(const std::string& golden, const table_names& names) {
  const altered_copy folder(golden);
  const auto reference = logits_of(folder.path());
  const auto kept = reference.front().size() - (reference.front().size() % 2 == 0 ? 5 : 4);
  auto weights = folder.weights();
  for (auto& tensor : weights) {
    const bool is_bias = tensor.name == "lm_head.bias";
    if (tensor.name != names.embedding && tensor.name != names.head && !is_bias) continue;
    tensor.bytes.resize(tensor.bytes.size() / reference.front().size() * kept);
    tensor.shape.front() = static_cast<std::int64_t>(kept);
  }
  folder.write(weights);
  folder.set([&](boost::json::object& config) {
    if (config.contains("vocab_size")) config["vocab_size"] = kept;
    for (const auto* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
      if (config.contains(key)) config[key] = nullptr;
  });
  auto expected = reference;
  for (auto& row : expected) row.resize(kept);
  BOOST_TEST((logits_of(folder.path()) == expected));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vocabulary_tables)

BOOST_AUTO_TEST_CASE(a_stored_head_is_used_and_one_that_repeats_the_embedding_is_not_kept_twice) {
  int tied = 0, untied = 0;
  for (const auto& golden : decoders()) {
    BOOST_TEST_CONTEXT(golden) {
      const auto names = names_in(golden_folder(golden));
      auto weights = read_weights(golden_folder(golden) / "model.safetensors");
      if (named(weights, names.head) == weights.end()) {
        ++tied;
        check_tied(golden, names);
      } else {
        ++untied;
        check_untied(golden);
      }
    }
  }
  BOOST_TEST(tied > 20);
  BOOST_TEST(untied > 20);
}

BOOST_AUTO_TEST_CASE(tokens_at_the_end_of_the_vocabulary_may_be_missing) {
  for (const auto& golden : decoders()) {
    BOOST_TEST_CONTEXT(golden) { check_fewer_tokens(golden, names_in(golden_folder(golden))); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
