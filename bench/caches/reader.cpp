#include "reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace curves {

std::vector<cogen::token> tokens_of(const cogen::model& model, const std::string& file, std::size_t wanted) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("{} cannot be read", file));
  auto ids = model.tokenizer().encode(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (ids.size() < wanted)
    throw std::runtime_error(fmt::format("{} has {} tokens; {} are needed", file, ids.size(), wanted));
  ids.resize(wanted);
  return ids;
}

namespace {

constexpr std::string_view int8_suffix = "/compute-int8";

bool is_int8(std::string_view name) { return name.ends_with(int8_suffix); }

std::string_view without_suffix(std::string_view name) {
  if (is_int8(name)) name.remove_suffix(int8_suffix.size());
  return name;
}

}  // namespace

reader::reader(const cogen::model& model, std::string name, const room& room, const cogen::workspace& threads)
    : model_(model),
      name_(std::move(name)),
      max_step_tokens_(room.max_step_tokens),
      workspace_(threads.workers(), is_int8(name_) ? cogen::compute_type::int8 : cogen::compute_type::float32),
      cache_(model.make_cache(kind_named(without_suffix(name_)).options(room))) {}

cogen::matrix_view reader::forward(tokens ids, std::span<const int> outputs) {
  const cogen::cache::step step({{.slot = 0, .count = static_cast<int>(ids.size())}});
  return model_.forward({.step = step, .tokens = ids, .outputs = outputs}, cache_, workspace_);
}

cogen::matrix_view reader::read(tokens ids) {
  std::vector<int> outputs(ids.size());
  std::iota(outputs.begin(), outputs.end(), 0);
  return forward(ids, outputs);
}

cogen::matrix_view reader::skim(tokens ids) {
  cogen::matrix_view logits;
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), static_cast<std::size_t>(max_step_tokens_)));
    ids = ids.subspan(part.size());
    const int last = static_cast<int>(part.size()) - 1;
    logits = forward(part, std::span(&last, ids.empty() ? 1 : 0));
  }
  return logits;
}

std::vector<std::byte> reader::copy() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache_.exported_bytes(length())));
  cache_.export_slot(0, bytes);
  return bytes;
}

void reader::go_back(int length, std::span<const std::byte> copied) {
  if (cache_.can_truncate(0, length)) return cache_.truncate(0, length);
  cache_.clear(0);
  cache_.import_slot(0, length, copied);
}

logits_file::logits_file(const cogen::model& model, std::string name, const std::string& path)
    : name_(std::move(name)), file_(path, std::ios::binary), vocabulary_(model.config().vocabulary) {
  if (!file_) throw std::runtime_error(fmt::format("{} cannot be read", path));
}

cogen::matrix_view logits_file::read(tokens ids) {
  if (logits_.rows() != std::ssize(ids)) logits_ = cogen::matrix(std::ssize(ids), vocabulary_);
  file_.read(reinterpret_cast<char*>(logits_.numbers().data()), logits_.bytes());
  if (!file_) throw std::runtime_error(fmt::format("{} ends before the text does", name_));
  return logits_;
}

std::vector<std::unique_ptr<predictor>> predictors_of(const cogen::model& model, std::span<const std::string> kinds,
                                                      const room& room, std::optional<int> threads) {
  constexpr std::string_view prefix = "logits:";
  const cogen::workspace shared(threads);
  std::vector<std::unique_ptr<predictor>> predictors;
  for (const auto& name : kinds)
    if (name.starts_with(prefix))
      predictors.push_back(std::make_unique<logits_file>(model, name, name.substr(prefix.size())));
    else
      predictors.push_back(std::make_unique<reader>(model, name, room, shared));
  return predictors;
}

std::vector<std::unique_ptr<reader>> readers_of(const cogen::model& model, std::span<const std::string> kinds,
                                                const room& room, std::optional<int> threads) {
  const cogen::workspace shared(threads);
  std::vector<std::unique_ptr<reader>> readers;
  for (const auto& name : kinds) readers.push_back(std::make_unique<reader>(model, name, room, shared));
  return readers;
}

}  // namespace curves
