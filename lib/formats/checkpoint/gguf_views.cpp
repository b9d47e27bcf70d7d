#include "formats/checkpoint/gguf_views.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/message.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

namespace cogen::load {
namespace {

struct name_pair {
  std::string_view stored, asked;
};

constexpr std::array scan_names{
    name_pair{"ssm_in.", "in_proj."},
    name_pair{"ssm_conv1d.", "conv1d."},
    name_pair{"ssm_x.", "x_proj."},
    name_pair{"ssm_dt.", "dt_proj."},
    name_pair{"ssm_out.", "out_proj."},
    name_pair{"ssm_dt_norm.", "dt_layernorm."},
    name_pair{"ssm_b_norm.", "b_layernorm."},
    name_pair{"ssm_c_norm.", "c_layernorm."},
    name_pair{"ssm_a", "A_log"},
    name_pair{"ssm_d", "D"},
};

constexpr std::array short_convolution_names{
    name_pair{"shortconv.in_proj.", "in_proj."},
    name_pair{"shortconv.conv.", "conv."},
    name_pair{"shortconv.out_proj.", "out_proj."},
};

constexpr std::array delta_net_names{
    name_pair{"attn_qkv.", "in_proj_qkv."}, name_pair{"attn_gate.", "in_proj_z."}, name_pair{"ssm_beta.", "in_proj_b."},
    name_pair{"ssm_alpha.", "in_proj_a."},  name_pair{"ssm_conv1d.", "conv1d."},   name_pair{"ssm_out.", "out_proj."},
    name_pair{"ssm_norm.", "norm."},        name_pair{"ssm_dt.bias", "dt_bias"},   name_pair{"ssm_a", "A_log"},
    name_pair{"ssm_ba.", "in_proj_ba."},
};

constexpr std::array mamba2_names{
    name_pair{"ssm_in.", "in_proj."}, name_pair{"ssm_conv1d.", "conv1d."}, name_pair{"ssm_out.", "out_proj."},
    name_pair{"ssm_norm.", "norm."},  name_pair{"ssm_dt.bias", "dt_bias"}, name_pair{"ssm_a", "A_log"},
    name_pair{"ssm_d", "D"},
};

/// Norms of Falcon-H1, which have no suffix.
constexpr std::array bare_names{name_pair{"ffn_norm", "ffn_norm.weight"}};

/// The tensors of one kind of mixer, and what models put before their names.
struct mixer_names {
  std::string_view prefix;
  std::span<const name_pair> names;
};

constexpr std::array mixers{
    mixer_names{"mamba.", scan_names},
    mixer_names{"mamba2.", mamba2_names},
    mixer_names{"bare.", bare_names},
    mixer_names{"linear_attn.", delta_net_names},
    mixer_names{"conv.", short_convolution_names},
};

struct parameter {
  std::string_view key, asked;
  bool is_scalar;
};

constexpr std::array xielu_parameters{
    parameter{"xielu.alpha_p", "act_fn.alpha_p", false},
    parameter{"xielu.alpha_n", "act_fn.alpha_n", false},
    parameter{"xielu.beta", "act_fn.beta", true},
    parameter{"xielu.eps", "act_fn.eps", true},
};

constexpr real_range parameters{-1e6, 1e6};

/// log(-x) of a file's float tensors.
class negated_logarithms final : public tensor_file {
 public:
  explicit negated_logarithms(const gguf_file& file) : file_(file) {}

  std::span<const tensor_info> tensors() const noexcept override { return {}; }
  const tensor_info* find(std::string_view) const noexcept override { return nullptr; }
  const std::filesystem::path& path() const noexcept override { return file_.path(); }

  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    file_.read(tensor, offset, out);
    for (std::size_t position = 0; position + sizeof(float) <= out.size(); position += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, out.data() + position, sizeof(value));
      if (!(value < 0))
        refuse(path().string(), "tensor {} has {}; numbers below 0 are allowed", in_quotes(tensor.name), value);
      value = std::log(-value);
      std::memcpy(out.data() + position, &value, sizeof(value));
    }
  }

 private:
  const gguf_file& file_;
};

/// Numbers in memory, of which each tensor has one.
class numbers_in_memory final : public tensor_file {
 public:
  explicit numbers_in_memory(std::filesystem::path path) : path_(std::move(path)) {}

  std::span<const tensor_info> tensors() const noexcept override { return {}; }
  const tensor_info* find(std::string_view) const noexcept override { return nullptr; }
  const std::filesystem::path& path() const noexcept override { return path_; }

  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    const auto bytes = std::as_bytes(std::span(&numbers_.at(tensor.begin / sizeof(float)), 1));
    if (offset > bytes.size() || out.size() > bytes.size() - offset)
      throw std::out_of_range(fmt::format("{}: bytes [{}, {}) of tensor {} were asked for; it has {}", path_.string(),
                                          offset, offset + out.size(), in_quotes(tensor.name), bytes.size()));
    std::ranges::copy(bytes.subspan(offset, out.size()), out.begin());
  }

  tensor_info add(std::string name, float value, bool is_scalar) {
    numbers_.push_back(value);
    return {.name = std::move(name),
            .type = element_type::f32,
            .shape = is_scalar ? std::vector<std::int64_t>() : std::vector<std::int64_t>{1},
            .bytes = sizeof(float),
            .begin = (numbers_.size() - 1) * sizeof(float)};
  }

 private:
  std::filesystem::path path_;
  std::vector<float> numbers_;
};

/// "blk.7.mamba.D" is {"blk.7.", "mamba.D"}; outside of layers the first is empty.
std::pair<std::string_view, std::string_view> layer_and_rest(std::string_view name) {
  const auto dot = name.starts_with("blk.") ? name.find('.', 4) : name.npos;
  if (dot == name.npos) return {"", name};
  return {name.substr(0, dot + 1), name.substr(dot + 1)};
}

std::optional<std::string> stored_part_of_mixer(std::string_view asked) {
  for (const auto& [prefix, names] : mixers) {
    if (!asked.starts_with(prefix)) continue;
    const auto part = asked.substr(prefix.size());
    for (const auto& name : names)
      if (part.starts_with(name.asked)) return std::string(name.stored).append(part.substr(name.asked.size()));
  }
  return std::nullopt;
}

}  // namespace

gguf_views::gguf_views(const gguf_file& file, const config_fields& fields)
    : file_(file), logarithms_(std::make_unique<const negated_logarithms>(file)) {
  add_numbers(fields);
}

std::pair<const tensor_file*, const tensor_info*> gguf_views::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  auto found = views_.find(name);
  if (found == views_.end()) {
    auto entry = make(name);
    if (!entry) return {nullptr, nullptr};
    found = views_.emplace(name, std::move(*entry)).first;
  }
  return {found->second.file, &found->second.tensor};
}

std::string gguf_views::stored_name(std::string_view name) {
  const auto [layer, rest] = layer_and_rest(name);
  const auto stored = stored_part_of_mixer(rest);
  return layer.empty() || !stored ? std::string(name) : std::string(layer).append(*stored);
}

std::optional<gguf_views::view> gguf_views::make(std::string_view name) const {
  const auto stored_as = stored_name(name);
  const auto* stored = stored_as == name ? nullptr : file_.find(stored_as);
  if (stored == nullptr) return std::nullopt;
  const auto rest = layer_and_rest(name).second;
  view result{*stored, &file_};
  if (rest.ends_with(".A_log")) {
    if (stored->type != element_type::f32)
      refuse(file_.path().string(), "tensor {} is not f32", in_quotes(stored->name));
    result.file = logarithms_.get();
  }
  auto& shape = result.tensor.shape;
  const bool is_vector = rest == "mamba2.A_log" || rest == "mamba2.D" || rest == "mamba2.norm.weight";
  if (is_vector && shape.size() == 2) shape = {shape[0] * shape[1]};
  const bool convolves = rest.ends_with(".conv1d.weight") || rest.ends_with(".conv.weight");
  if (convolves && shape.size() == 2) shape.insert(shape.begin() + 1, 1);
  return result;
}

void gguf_views::add_numbers(const config_fields& fields) {
  auto numbers = std::make_unique<numbers_in_memory>(fields.name());
  for (const auto& [key, asked, is_scalar] : xielu_parameters) {
    if (!fields.has(key)) continue;
    const auto values = fields.reals(key, parameters);
    const auto layers = fields.integer("block_count", layer_counts);
    if (static_cast<std::int64_t>(values.size()) != layers)
      fields.refuse(key, fmt::format("it must have a number for each of {} layers", layers));
    for (std::size_t layer = 0; layer < values.size(); ++layer) {
      const auto& name = metadata_names_.emplace_back(fmt::format("blk.{}.{}", layer, asked));
      views_.emplace(name, view{numbers->add(name, static_cast<float>(values[layer]), is_scalar), numbers.get()});
    }
  }
  numbers_ = std::move(numbers);
}

}  // namespace cogen::load
