#include "vectors.hpp"

#include "formats/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

namespace cogen::golden {

namespace {

constexpr const char* file_name = "golden.safetensors";

template <class Number>
std::vector<Number> numbers(const load::tensor_file& file, const std::string& name) {
  const auto* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error(fmt::format("{}: no tensor {}", file.path().string(), name));
  std::vector<Number> values(static_cast<std::size_t>(load::element_count(*tensor)));
  file.read(*tensor, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

encoder_text text_number(const load::tensor_file& file, int index) {
  const auto second = fmt::format("t{}.second", index);
  encoder_text text{.tokens = numbers<token>(file, fmt::format("t{}.ids", index))};
  if (file.find(second) != nullptr) text.second = numbers<std::int32_t>(file, second).front();
  return text;
}

std::vector<std::vector<float>> rows_of(const matrix& vectors) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < vectors.rows(); ++row) rows.emplace_back(vectors[row].begin(), vectors[row].end());
  return rows;
}

void compare(vector_verdict& so_far, const std::vector<float>& came, const std::vector<float>& expected) {
  if (came.size() != expected.size())
    throw std::runtime_error(fmt::format("a vector has {} numbers and not {}", came.size(), expected.size()));
  for (std::size_t i = 0; i < came.size(); ++i) {
    so_far.bad_number |= !std::isfinite(came[i]);
    so_far.worst = std::max(so_far.worst, std::abs(came[i] - expected[i]));
  }
}

}  // namespace

bool has_vectors(const std::filesystem::path& folder) {
  return load::safetensors_file(folder / file_name).find("t0.ids") != nullptr;
}

reference_vectors read_vectors(const std::filesystem::path& folder) {
  const load::safetensors_file file(folder / file_name);
  reference_vectors result;
  for (int i = 0; file.find(fmt::format("t{}.ids", i)) != nullptr; ++i) {
    result.texts.push_back(text_number(file, i));
    result.vectors.push_back(numbers<float>(file, fmt::format("t{}.vector", i)));
  }
  return result;
}

std::vector<std::vector<float>> vectors_alone(const model& model, const reference_vectors& reference,
                                              compute_type mode) {
  workspace space(std::nullopt, mode);
  std::vector<std::vector<float>> vectors;
  for (const auto& text : reference.texts) vectors.push_back(rows_of(model.embed({&text, 1}, space)).front());
  return vectors;
}

vector_verdict judge(const model& model, const reference_vectors& reference, compute_type mode) {
  workspace space(std::nullopt, mode);
  const auto together = rows_of(model.embed(reference.texts, space));
  std::vector<encoder_text> reversed(reference.texts.rbegin(), reference.texts.rend());
  const auto otherwise = rows_of(model.embed(reversed, space));
  const auto alone = vectors_alone(model, reference, mode);
  vector_verdict result;
  for (std::size_t i = 0; i < reference.texts.size(); ++i) {
    compare(result, alone[i], reference.vectors[i]);
    if (alone[i] == together[i] && alone[i] == otherwise[together.size() - 1 - i]) ++result.same_bits;
  }
  return result;
}

}  // namespace cogen::golden
