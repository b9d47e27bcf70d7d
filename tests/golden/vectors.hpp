#pragma once

#include <cogen/model.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cogen::golden {

/// What a model should make of texts, or of pairs of texts.
struct reference_vectors {
  std::vector<encoder_text> texts;
  std::vector<std::vector<float>> vectors;  // [texts]
};

/// Whether the folder's golden.safetensors holds vectors, and no logits.
bool has_vectors(const std::filesystem::path& folder);

/// Throws load::load_error, or std::runtime_error naming what the file lacks.
reference_vectors read_vectors(const std::filesystem::path& folder);

/// What comparing one model with its references came to.
struct vector_verdict {
  float worst = 0;    // greatest difference of a number
  int same_bits = 0;  // texts that were read alone, with others and in another order, to the same bits
  bool bad_number = false;

  bool passes(float tolerance, std::size_t texts) const {
    return worst <= tolerance && !bad_number && same_bits == static_cast<int>(texts);
  }
};

/// Of each text alone.
std::vector<std::vector<float>> vectors_alone(const model& model, const reference_vectors& reference,
                                              compute_type mode);

vector_verdict judge(const model& model, const reference_vectors& reference, compute_type mode);

}  // namespace cogen::golden
