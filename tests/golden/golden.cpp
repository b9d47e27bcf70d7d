#include "golden.hpp"

#include "formats/checkpoint/safetensors.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>

namespace cogen::golden {

namespace {

template <class Number>
std::vector<Number> read(const load::tensor_file& file, const load::tensor_info& tensor) {
  std::vector<Number> values(static_cast<std::size_t>(load::element_count(tensor)));
  file.read(tensor, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

const load::tensor_info& tensor_named(const load::tensor_file& file, const std::string& name, element_type type) {
  const auto* tensor = file.find(name);
  if (tensor == nullptr || tensor->type != type) {
    throw std::runtime_error(fmt::format("{}: no tensor {} of type {}", file.path().string(), name, to_string(type)));
  }
  return *tensor;
}

std::vector<token> read_ids(const load::tensor_file& file, const std::string& name) {
  return read<token>(file, tensor_named(file, name, element_type::i32));
}

std::vector<reference_row> read_rows(const load::tensor_file& file, const std::string& name) {
  const auto& tensor = tensor_named(file, name, element_type::f32);
  const auto values = read<float>(file, tensor);
  const auto vocabulary = static_cast<std::size_t>(tensor.shape.at(1));
  std::vector<token> ids(vocabulary);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<reference_row> rows;
  for (std::size_t begin = 0; begin < values.size(); begin += vocabulary) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    rows.push_back({.ids = ids, .logits = {first, first + static_cast<std::ptrdiff_t>(vocabulary)}});
  }
  return rows;
}

std::vector<beam> read_beams(const load::tensor_file& file, const std::string& ids, const std::string& scores) {
  if (file.find(ids) == nullptr) return {};
  const auto& tensor = tensor_named(file, ids, element_type::i32);
  const auto tokens = read<token>(file, tensor);
  const auto values = read<float>(file, tensor_named(file, scores, element_type::f32));
  if (tensor.shape.size() != 2 || tensor.shape[0] != std::ssize(values))
    throw std::runtime_error(fmt::format("{}: {} is not one row for each of {}", file.path().string(), ids, scores));
  std::vector<beam> beams;
  auto first = tokens.begin();
  for (const float score : values) {
    beams.push_back({.ids = {first, first + tensor.shape[1]}, .score = score});
    first += tensor.shape[1];
  }
  return beams;
}

reference_prompt prompt_number(const load::tensor_file& file, int index) {
  const auto named = [&](const char* part) { return fmt::format("p{}.{}", index, part); };
  const bool has_encoder_input = file.find(named("decoder_ids")) != nullptr;
  return {.source = has_encoder_input ? read_ids(file, named("ids")) : std::vector<token>(),
          .ids = read_ids(file, named(has_encoder_input ? "decoder_ids" : "ids")),
          .prompt_rows = read_rows(file, named("prompt_logits")),
          .continuation = read_ids(file, named("gen_ids")),
          .rows = read_rows(file, named("gen_logits")),
          .predictions = file.find(named("mtp_logits")) == nullptr ? std::vector<reference_row>()
                                                                   : read_rows(file, named("mtp_logits")),
          .beams = read_beams(file, named("beam_ids"), named("beam_scores"))};
}

boost::json::value read_json(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be opened", file.string()));
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  return boost::json::parse(text);
}

reference_prompt continuation_from(const boost::json::value& json) {
  reference_prompt prompt{.text = boost::json::value_to<std::string>(json.at("text")),
                          .ids = boost::json::value_to<std::vector<token>>(json.at("ids")),
                          .continuation = boost::json::value_to<std::vector<token>>(json.at("gen_ids"))};
  const auto ids = boost::json::value_to<std::vector<std::vector<token>>>(json.at("top_ids"));
  const auto logits = boost::json::value_to<std::vector<std::vector<float>>>(json.at("top_logits"));
  for (std::size_t step = 0; step < prompt.continuation.size(); ++step) {
    prompt.rows.push_back({.ids = ids.at(step), .logits = logits.at(step)});
  }
  return prompt;
}

}  // namespace

float reference_row::margin() const {
  auto best = logits;
  std::ranges::partial_sort(best, best.begin() + 2, std::greater<>());
  return best.at(0) - best.at(1);
}

bool golden::has_encoder_inputs() const {
  return std::ranges::any_of(prompts, [](const auto& prompt) { return !prompt.source.empty(); });
}

bool golden::has_predictions() const {
  return std::ranges::any_of(prompts, [](const auto& prompt) { return !prompt.predictions.empty(); });
}

golden read_folder(const std::filesystem::path& folder) {
  const load::safetensors_file file(folder / "golden.safetensors");
  golden result{.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string(), .model = folder};
  for (int i = 0; file.find(fmt::format("p{}.ids", i)) != nullptr; ++i) {
    result.prompts.push_back(prompt_number(file, i));
  }
  if (result.prompts.empty()) throw std::runtime_error(fmt::format("{}: no tensor p0.ids", file.path().string()));
  return result;
}

golden read_continuations(const std::filesystem::path& file, const std::filesystem::path& model) {
  golden result{.name = file.stem().string(), .model = model};
  const auto json = read_json(file);
  for (const auto& prompt : json.at("prompts").as_array()) result.prompts.push_back(continuation_from(prompt));
  return result;
}

}  // namespace cogen::golden
