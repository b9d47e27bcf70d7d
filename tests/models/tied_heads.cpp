// Output matrices that are stored beside the embedding that a configuration ties them to, or instead of it: in every
// family, and for every golden.
#include "../load/weights_file.hpp"
#include "golden_copy.hpp"
#include "histories.hpp"
#include "models/families.hpp"
#include "some_models.hpp"
#include "weights/named_tensors.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// A golden's folder that says its head is tied.
class tied_copy : public golden_copy {
 public:
  explicit tied_copy(const std::string& golden) : golden_copy(golden) {
    std::ifstream in(path() / "config.json");
    auto config = boost::json::parse(std::string(std::istreambuf_iterator<char>(in), {})).as_object();
    in.close();
    tie(config);
    if (auto* text = config.if_contains("text_config")) tie(text->as_object());
    std::ofstream(path() / "config.json") << boost::json::serialize(config);
  }

  std::vector<stored_tensor> weights() const { return read_weights(path() / "model.safetensors"); }
  void write(const std::vector<stored_tensor>& weights) const { write_weights(path() / "model.safetensors", weights); }

 private:
  static void tie(boost::json::object& config) {
    config["tie_word_embeddings"] = true;
    if (config.contains("tie_embedding")) config["tie_embedding"] = true;
  }
};

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
  return run_alone(*model, random_tokens(*model, 5, 1), space);
}

/// With a head of the embedding's numbers, and with the head alone.
void check_tied(const std::string& golden, const table_names& names) {
  const tied_copy folder(golden);
  auto weights = folder.weights();
  const auto table = named(weights, names.embedding);
  BOOST_REQUIRE(table != weights.end());
  const auto before = logits_of(folder.path());
  auto head = *table;
  head.name = names.head;
  weights.push_back(head);
  folder.write(weights);
  BOOST_TEST((logits_of(folder.path()) == before), "a head of the same numbers changes logits");
  BOOST_TEST(is_one_table(folder.path()));
  weights.erase(named(weights, names.embedding));
  folder.write(weights);
  BOOST_TEST((logits_of(folder.path()) == before), "a head instead of the embedding changes logits");
}

void check_untied(const std::string& golden) {
  const tied_copy folder(golden);
  BOOST_TEST((logits_of(folder.path()) == logits_of(golden_folder(golden))), "the stored head is not used");
  BOOST_TEST(!is_one_table(folder.path()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tied_heads)

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
