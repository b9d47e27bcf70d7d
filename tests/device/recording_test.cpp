// What a graph replays reads no number on the host, and makes every tensor where the model is: it runs on tensors that
// have no numbers.
#include "../test_data.hpp"
#include "device_models.hpp"
#include "network/backend/tensor/tensor_operators.hpp"
#include "network/nn/device/device_layout.hpp"
#include "network/nn/device/step_block.hpp"

#include <cogen/load/checkpoint.hpp>

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::test {

namespace {

// LibTorch has these without numbers in Python only.

at::Tensor index_select(const at::Tensor& input, std::int64_t dimension, const at::Tensor& which) {
  auto sizes = input.sizes().vec();
  sizes[static_cast<std::size_t>(at::maybe_wrap_dim(dimension, input.dim()))] = which.numel();
  return at::empty(sizes, input.options());
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& input, const at::Tensor& other) {
  return at::empty(at::infer_size(condition.sizes(), at::infer_size(input.sizes(), other.sizes())), input.options());
}

at::Tensor floor_divide(const at::Tensor& input, const at::Tensor& other) {
  return at::empty(at::infer_size(input.sizes(), other.sizes()), input.options());
}

at::Tensor abs(const at::Tensor& input) { return at::empty_like(input); }

at::Tensor relu(const at::Tensor& input) { return at::clamp_min(input, 0); }

at::Tensor grouped_mm(const at::Tensor& x, const at::Tensor& weights, const std::optional<at::Tensor>& ends,
                      const std::optional<at::Tensor>&, std::optional<at::ScalarType>) {
  if (!ends || !ends->is_meta()) throw std::invalid_argument("the groups' ends are not on the device");
  return at::empty({x.size(0), weights.size(2)}, x.options());
}

template <class Kernel>
c10::RegistrationHandleRAII runs_without_numbers(const char* name, const char* overload, Kernel* kernel) {
  return c10::Dispatcher::singleton().registerImpl({name, overload}, c10::DispatchKey::Meta,
                                                   c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel),
                                                   std::nullopt, nullptr, "of a test");
}

const c10::RegistrationHandleRAII registered[] = {runs_without_numbers("aten::index_select", "", index_select),
                                                  runs_without_numbers("aten::where", "self", where),
                                                  runs_without_numbers("aten::floor_divide", "", floor_divide),
                                                  runs_without_numbers("aten::abs", "", abs),
                                                  runs_without_numbers("aten::relu", "", relu),
                                                  runs_without_numbers("aten::_grouped_mm", "", grouped_mm)};

class operators_without_numbers : public device::tensor_operators {
 public:
  std::int64_t quantized_head_bytes(const cache::group_format&, const cache::group_format&, std::int64_t) override {
    throw std::invalid_argument("nothing is quantized here");
  }
  device::quantized_rows pack(const device::quantized_rows&) override {
    throw std::invalid_argument("nothing is quantized here");
  }
  void sample(const at::Tensor&, const device::step_sampling&, const at::Tensor&,
              const device::step_samples&) override {}

 private:
  bool multiplies_groups(const at::Tensor&) const override { return true; }
};

class backend_without_numbers final : public device::backend {
 public:
  at::Device device() const override { return at::kMeta; }
  std::string description() const override { return "tensors without numbers"; }
  std::unique_ptr<device::stream> make_stream() const override { return nullptr; }
  std::unique_ptr<device::operators> make_operators() const override {
    return std::make_unique<operators_without_numbers>();
  }
  at::Tensor make_host(std::int64_t bytes) const override { return at::empty({bytes}, at::kByte); }
  std::int64_t free_bytes() const override { return 0; }
};

/// Counts what ranks do together. None has numbers.
class counted_collectives final : public device::collectives {
 public:
  explicit counted_collectives(parallel::place place) : place_(place) {}

  parallel::place place() const override { return place_; }
  void sum(const at::Tensor& numbers) override {
    check(numbers);
    ++sums;
  }
  void gather(const at::Tensor& part, const std::vector<at::Tensor>& parts) override {
    check(part);
    for (const auto& each : parts) check(each);
    gathered += static_cast<int>(parts.size());
  }
  bool gathers() const override { return true; }
  void fail(std::string_view) noexcept override {}
  void broadcast(const at::Tensor& numbers) override { check(numbers); }

  int sums = 0;
  int gathered = 0;

 private:
  static void check(const at::Tensor& numbers) {
    if (!numbers.is_meta() || !numbers.is_contiguous()) throw std::invalid_argument("ranks exchange something else");
  }

  const parallel::place place_;
};

struct golden_network {
  explicit golden_network(const std::string& name, std::shared_ptr<device::collectives> ranks = nullptr)
      : network(golden_network_on(std::make_shared<backend_without_numbers>(), name, at::kFloat, device_weights::whole,
                                  std::move(ranks))),
        vocabulary(load::checkpoint(golden_folder(name)).config().vocabulary) {}

  std::unique_ptr<const nn::device_model> network;
  std::int64_t vocabulary;
};

/// Writes down what a network calls, not what operators call of each other.
class noted_operators final : public operators_without_numbers {
 public:
  std::vector<std::string> calls;

  void norm_linear(const device::norm_input& x, const device::norm& pre_norm, const device::projection& layer,
                   const at::Tensor& y) override {
    note(x.weighted.defined() ? "norm_linear, begun" : "norm_linear",
         [&] { operators_without_numbers::norm_linear(x, pre_norm, layer, y); });
  }
  void norm_activated(const device::norm_input& x, const device::norm& pre_norm, const device::projection& layer,
                      const parts::activation& function, const at::Tensor& y) override {
    note(x.weighted.defined() ? "norm_activated, begun" : "norm_activated",
         [&] { operators_without_numbers::norm_activated(x, pre_norm, layer, function, y); });
  }
  bool linear_add(const at::Tensor& y, const device::projection& layer, const device::residual& residual,
                  const device::norm_input& next) override {
    bool begun = false;
    note("linear_add", [&] { begun = operators_without_numbers::linear_add(y, layer, residual, next); });
    return begun;
  }
  void add_rows(const at::Tensor& rows, const device::residual& residual, const at::Tensor& x) override {
    note("add_rows", [&] { operators_without_numbers::add_rows(rows, residual, x); });
  }
  void rotate_and_append(const device::qkv_rows& numbers, const device::attention_shape& shape,
                         const device::rotation& turn, const device::step_rows& rows,
                         const cache::device_layer& layer) override {
    note("rotate_and_append", [&] { operators_without_numbers::rotate_and_append(numbers, shape, turn, rows, layer); });
  }
  void attend(const device::qkv_rows& numbers, const device::attention_shape& shape, const device::step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    note("attend", [&] { operators_without_numbers::attend(numbers, shape, rows, layer, out); });
  }
  void score(const at::Tensor& x, const device::norm& pre_norm, const device::head& lm_head,
             const at::Tensor& logits) override {
    note("score", [&] { operators_without_numbers::score(x, pre_norm, lm_head, logits); });
  }

 private:
  template <class Call>
  void note(const char* name, Call call) {
    if (depth_++ == 0) calls.emplace_back(name);
    call();
    --depth_;
  }

  int depth_ = 0;
};

/// Why what a device_runner records cannot run with these operators; empty if it can.
std::string why_not(const golden_network& model, const cache::device_options& options,
                    const std::shared_ptr<device::operators>& operators = backend_without_numbers().make_operators()) {
  constexpr std::int64_t rows = 3;
  const backend_without_numbers where;
  const auto on_device = at::TensorOptions(where.device());
  const cache::device_cache memory(model.network->kv_cache_specs(), options);
  const nn::step_block step(where, rows);
  const auto last = at::zeros({options.slots}, on_device.dtype(at::kInt));
  const auto logits = at::empty({rows, model.vocabulary}, on_device.dtype(at::kFloat));
  const auto scratch = model.network->make_scratch(rows, nn::has_sinks(memory));
  try {
    const auto hidden = model.network->forward(*operators, step.single_rows(rows), last, {}, {memory}, scratch);
    model.network->score(*operators, hidden, logits);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(device_recording)

BOOST_AUTO_TEST_CASE(numbers_are_not_there) {
  const auto numbers = at::empty({3}, at::kMeta);
  BOOST_CHECK_THROW(numbers.select(0, 0).item<float>(), std::exception);
  BOOST_CHECK_THROW(numbers.nonzero(), std::exception);
  BOOST_CHECK_THROW(numbers.to(at::kCPU), std::exception);
  BOOST_CHECK_THROW(numbers + at::empty({3}), std::exception);
}

// What a rank has of it, too.
BOOST_AUTO_TEST_CASE(single_tokens_of_any_model_run_without_numbers) {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "golden")) {
    if (!std::filesystem::exists(entry.path() / "golden.json")) continue;
    const golden_network model(entry.path().filename());
    if (!model.network->generates()) continue;
    const cache::device_options options{.device = at::kMeta,
                                        .type = model.network->type(),
                                        .slots = 4,
                                        .max_sequence_length = 96,
                                        .max_encoder_length = 32};
    const auto why = why_not(model, options);
    BOOST_TEST(why == "", entry.path().filename() << ": " << why);
    for (const int rank : {0, 1}) {
      const auto ranks = std::make_shared<counted_collectives>(parallel::place{rank, 2});
      const auto not_of_rank = why_not(golden_network(entry.path().filename(), ranks), options);
      BOOST_TEST(not_of_rank == "", entry.path().filename() << ", rank " << rank << ": " << not_of_rank);
      BOOST_TEST(ranks->sums > 0);
      BOOST_TEST(ranks->gathered == 2);
    }
    ++checked;
  }
  BOOST_TEST(checked > 100);
}

// Of embeddings, then after attention and after the feed-forward or the experts of each layer; and the logits.
BOOST_AUTO_TEST_CASE(what_ranks_do_is_recorded_with_a_step) {
  for (const auto* golden : {"llama_default", "mixtral_published", "gpt_neox_published", "gpt_oss_published"}) {
    const auto ranks = std::make_shared<counted_collectives>(parallel::place{1, 2});
    const golden_network model(golden, ranks);
    const cache::device_options options{
        .device = at::kMeta, .type = model.network->type(), .slots = 4, .max_sequence_length = 96};
    BOOST_TEST(why_not(model, options) == "");
    BOOST_TEST(ranks->sums == 1 + 2 * static_cast<int>(model.network->kv_cache_specs().size()), golden);
    BOOST_TEST(ranks->gathered == 2);
  }
}

// Each of these is one kernel on a GPU, in steps of few rows. Norms begin in the products that write what they read,
// but for the first, which reads embeddings.
BOOST_AUTO_TEST_CASE(a_layer_is_six_operators) {
  const std::vector<std::string> layer{"norm_linear, begun", "rotate_and_append",     "attend",
                                       "linear_add",         "norm_activated, begun", "linear_add"};
  for (const auto* golden : {"llama_default", "mistral_window", "qwen2_published", "llama_bfloat16"}) {
    const golden_network model(golden);
    const auto noted = std::make_shared<noted_operators>();
    BOOST_TEST(why_not(model,
                       {.device = at::kMeta, .type = model.network->type(), .slots = 4, .max_sequence_length = 96},
                       noted) == "");
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < model.network->kv_cache_specs().size(); ++i)
      expected.insert(expected.end(), layer.begin(), layer.end());
    expected.front() = "norm_linear";
    expected.emplace_back("score");
    BOOST_TEST(noted->calls == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(so_do_those_in_rings_and_behind_sinks) {
  const golden_network model("llama_default");
  for (const auto& sinks : {cache::sink_window{.sinks = 0, .window = 20}, {.sinks = 4, .window = 20}})
    for (const int ring : {0, 64})
      for (const auto type : {at::kFloat, at::kFloat8_e4m3fn})
        BOOST_TEST(why_not(model, {.device = at::kMeta,
                                   .type = type,
                                   .slots = 4,
                                   .max_sequence_length = 96,
                                   .sinks = sinks,
                                   .ring = ring}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
