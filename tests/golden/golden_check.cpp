// golden_check [options] GOLDEN...: compares models with the reference outputs of tests/golden/README.md.
#include "cache_choice.hpp"
#include "device_runs.hpp"
#include "float32_model.hpp"
#include "golden.hpp"
#include "network/kernels/kernel_choice.hpp"
#include "network/model/load_rank.hpp"
#include "network/parallel/rank_group.hpp"
#include "network/parallel/world.hpp"
#include "parallel/thread_transport.hpp"
#include "runs.hpp"
#include "stored_copy.hpp"
#include "test_data.hpp"
#include "vectors.hpp"
#include "verdict.hpp"

#include <cogen/engine.hpp>
#include <cogen/load/checkpoint.hpp>
#include <cogen/model.hpp>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cogen;
namespace options = boost::program_options;

struct request {
  std::vector<std::string> goldens;
  std::string model;
  const golden::cache_choice* kv = nullptr;
  compute_type mode = compute_type::float32;
  std::string device;
  std::optional<float> tolerance;
  golden::stored_form form;
  parallel_options split;
  bool allow_refusals = false;

  bool is_stored_otherwise() const { return form.type || form.shards > 0; }
  bool is_in_other_files() const { return form.shards > 0 && !form.type && device == "cpu" && !is_split(); }
  bool is_split() const { return split.tensor > 1 || split.pipeline > 1; }
};

/// The ranks of this run: processes, or threads of this one; null if models are whole.
using ranks = std::shared_ptr<parallel::rank_group>;

bool is_continuations(const std::string& path) { return path.ends_with(".json"); }

bool is_golden(const std::filesystem::path& path) {
  return is_continuations(path.string()) || std::filesystem::exists(path / "golden.safetensors");
}

/// The path, or the goldens in a folder of them. Throws std::invalid_argument if there are none.
std::vector<std::string> goldens_in(const std::string& path) {
  if (is_golden(path)) return {path};
  std::vector<std::string> found;
  if (std::filesystem::is_directory(path))
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (is_golden(entry.path())) found.push_back(entry.path().string());
  if (found.empty()) throw std::invalid_argument(fmt::format("{}: there are no goldens", path));
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> goldens_in(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const auto& path : paths) std::ranges::move(goldens_in(path), std::back_inserter(found));
  return found;
}

std::optional<request> parse(int argc, char** argv) {
  request wanted;
  std::string mode, kv, stored_as;
  options::options_description described("golden_check [options] FOLDER|FILE.json...");
  auto add = described.add_options();
  add("help", "show this");
  add("compute-type", options::value(&mode)->default_value("float32"), "how products are computed: float32 or int8");
  add("device", options::value(&wanted.device)->default_value("cpu"), "cpu, reference, cuda or cuda:N");
  const auto kv_help = "what the cache keeps: " + golden::cache_choice_names();
  add("kv", options::value(&kv)->default_value(golden::cache_choices().front().name), kv_help.c_str());
  add("stored-as", options::value(&stored_as),
      "float32, bfloat16 or float16: the folder's weights as if it stored them so, where that changes no number");
  add("shards", options::value(&wanted.form.shards), "how many files the folder's weights are spread over");
  add("tolerance", options::value<float>(), "greatest difference of a logit that passes");
  add("model", options::value(&wanted.model)->default_value(cogen::test::default_model_file().string()),
      "the model of a FILE.json");
  add("tensor", options::value(&wanted.split.tensor)->default_value(1), "ranks that split layers");
  add("pipeline", options::value(&wanted.split.pipeline)->default_value(1),
      "groups of ranks that have some layers each. Ranks are the processes that mpirun has started, or threads of one");
  add("allow-refusals", options::bool_switch(&wanted.allow_refusals),
      "a model that is refused with a message passes; counts them at the end");
  add("golden", options::value(&wanted.goldens),
      "folders with a model and golden.safetensors, folders of such folders, or continuations");
  options::positional_options_description positions;
  positions.add("golden", -1);
  options::variables_map given;
  options::store(options::command_line_parser(argc, argv).options(described).positional(positions).run(), given);
  options::notify(given);
  if (given.contains("help") || wanted.goldens.empty()) {
    std::cout << described;
    return std::nullopt;
  }
  wanted.goldens = goldens_in(wanted.goldens);
  if (mode != "float32" && mode != "int8")
    throw std::invalid_argument(fmt::format("--compute-type {}: there are float32 and int8", mode));
  if (mode == "int8") wanted.mode = compute_type::int8;
  wanted.kv = &golden::cache_choice_named(kv);
  if (given.contains("stored-as")) wanted.form.type = golden::stored_type_named(stored_as);
  if (given.contains("shards") && wanted.form.shards < 1)
    throw std::invalid_argument(fmt::format("--shards {}: at least 1", wanted.form.shards));
  if (given.contains("tolerance")) wanted.tolerance = given["tolerance"].as<float>();
  return wanted;
}

bool has_bf16_matrices(const std::filesystem::path& path) {
  const load::checkpoint files(path);
  return std::ranges::any_of(files.weight_names(), [&](const std::string& name) {
    const auto weight = files.find(name);
    return weight && weight->type() == element_type::bf16 && weight->shape().size() > 1;
  });
}

/// What compute_type::int8 adds: nothing where no product rounds.
float tolerance_of_rounding(const model& model, const std::filesystem::path& path, bool real) {
  const auto type = model.weight_type();
  if (type == "f32" && !has_bf16_matrices(path)) return 0;
  if (type != "bf16" && type != "f32") return real ? golden::real_int8_tolerance : golden::int8_tolerance;
  const auto& kernels = kernels::int8_kernels_of(kernels::preferred_instruction_set());
  return kernels.multiply_bf16 ? golden::bf16_tolerance : 0;
}

float tolerance_for(const request& wanted, const model& model, const std::filesystem::path& path, bool real) {
  if (wanted.tolerance) return *wanted.tolerance;
  if (wanted.device != "cpu" && wanted.device != "reference") return golden::device_tolerance;
  return (real ? wanted.kv->real_tolerance : wanted.kv->tolerance) +
         (wanted.mode == compute_type::int8 ? tolerance_of_rounding(model, path, real) : 0.0F);
}

/// Throws std::runtime_error where the prompts have encoder inputs and the model does not read any, or the other way
/// round.
void check_encoder_inputs(const model& model, const golden::golden& reference) {
  if (model.has_encoder() == reference.has_encoder_inputs()) return;
  throw std::runtime_error(model.has_encoder() ? "the model reads an encoder input, and the prompts have none"
                                               : "the prompts have encoder inputs, and the model reads none");
}

/// How many tensors were converted; empty if the weights are those of the folder.
std::string conversion(const std::optional<golden::stored_copy>& copy) {
  return copy && copy->converted() > 0 ? fmt::format("{}/{} tensors converted  ", copy->converted(), copy->tensors())
                                       : "";
}

/// Devices and split models do not predict tokens.
golden::golden without_predictions(golden::golden reference) {
  for (auto& prompt : reference.prompts) prompt.predictions.clear();
  return reference;
}

/// Whether the model gives the bits of another one, in one process.
bool is_like(const std::filesystem::path& other, const request& wanted, golden::runner& run,
             const golden::golden& reference) {
  const auto whole = load_model(other);
  golden::runner twin(*whole, wanted.kv->memory, wanted.mode);
  return std::ranges::all_of(reference.prompts,
                             [&](const auto& prompt) { return run.alone(prompt, 7) == twin.alone(prompt, 7); });
}

golden::verdict judged(const request& wanted, const std::string& path, const std::shared_ptr<const model>& model,
                       const golden::golden& reference, float tolerance) {
  auto memory = wanted.kv->memory;
  if (model->on_device()) memory.type = model->weight_type() == "f32" ? cache::scalar::f32 : cache::scalar::bf16;
  golden::runner run(*model, memory, wanted.mode);
  auto result = golden::judge(run, reference, tolerance);
  const bool as_engine = wanted.kv == &golden::cache_choices().front();
  const bool same_bits = wanted.device == "reference" && as_engine && !wanted.is_split();
  if (wanted.is_split() && wanted.split.tensor == 1 && !is_like(reference.model, wanted, run, reference))
    result.changed.emplace_back("split");
  if (wanted.is_in_other_files() && !is_like(path, wanted, run, reference)) result.changed.emplace_back("other files");
  if (wanted.device == "cpu") return result;
  if (model->rank() > 0)
    run_worker(model, golden::options_on_device(reference));
  else
    result += golden::judge_on_device(model, reference, tolerance, same_bits ? &run : nullptr);
  return result;
}

bool says(const ranks& among) { return !among || among->leads(); }

bool check_vectors(const request& wanted, const std::string& path, const std::optional<golden::stored_copy>& copy,
                   const ranks& among) {
  auto reference = golden::read_vectors(path);
  if (const auto same = golden::float32_model_in(path))
    reference.vectors = golden::vectors_alone(*load_model(*same), reference, compute_type::float32);
  const auto model = nn::load_rank(copy ? copy->path() : std::filesystem::path(path), {.device = wanted.device}, among);
  const float tolerance = tolerance_for(wanted, *model, path, false);
  const auto result = golden::judge(*model, reference, wanted.mode);
  const bool is_unlike =
      wanted.is_in_other_files() && golden::vectors_alone(*model, reference, wanted.mode) !=
                                        golden::vectors_alone(*load_model(path), reference, wanted.mode);
  const bool passed = result.passes(tolerance, reference.texts.size()) && !is_unlike;
  const std::filesystem::path folder(path);
  if (!says(among)) return passed;
  std::cout << fmt::format("{:<20} {:<5} max|dvector| {:.1e} of {:.0e}  {}same bits alone and in batches {}/{}{}  {}\n",
                           (folder.has_filename() ? folder : folder.parent_path()).filename().string(),
                           model->weight_type(), result.worst, tolerance, conversion(copy), result.same_bits,
                           reference.texts.size(), is_unlike ? "  other bits: other files" : "",
                           passed ? "ok" : "FAILED")
            << std::flush;
  return passed;
}

bool check(const request& wanted, const std::string& path, const ranks& among) {
  std::optional<golden::stored_copy> copy;
  if (wanted.is_stored_otherwise()) copy.emplace(path, wanted.form);
  if (!is_continuations(path) && golden::has_vectors(path)) return check_vectors(wanted, path, copy, among);
  auto reference = is_continuations(path) ? golden::read_continuations(path, wanted.model) : golden::read_folder(path);
  if (copy) reference.model = copy->path();
  if (const auto same = golden::float32_model_in(path)) golden::take_from(*load_model(*same), reference);
  if (wanted.device != "cpu" || among) reference = without_predictions(std::move(reference));
  const auto model = nn::load_rank(
      reference.model, {.device = wanted.device, .multi_token_prediction = reference.has_predictions()}, among);
  check_encoder_inputs(*model, reference);
  const float tolerance = tolerance_for(wanted, *model, reference.model, is_continuations(path));
  auto result = judged(wanted, path, model, reference, tolerance);
  const bool on_device = wanted.device != "cpu";
  const auto changed = on_device ? std::exchange(result.changed, {}) : result.changed;
  const auto* const unlike = result.unlike_engine ? "  other bits by hand than in an engine" : "";
  const auto* const same = on_device ? "alone, chunked, swapped, forked, together" : "same bits alone and in batches";
  const bool passed = result.passes(tolerance);
  const auto beams = result.beams == 0 ? "" : fmt::format("  beams {}/{}", result.same_beams, result.beams);
  if (!says(among)) return passed;
  std::cout << fmt::format("{:<20} {:<5} max|dlogit| {:.1e} of {:.0e}  {}greedy {}/{}{}{}  {}  {}\n", reference.name,
                           model->weight_type(), result.worst, tolerance, conversion(copy), result.same_tokens,
                           result.tokens, beams, unlike,
                           changed.empty() ? same : fmt::format("other bits: {}", changed.front()),
                           passed ? "ok" : "FAILED")
            << std::flush;
  return passed;
}

enum class outcome { equal, refused, different };

outcome check_or_say_why_not(const request& wanted, const std::string& path, const ranks& among) {
  try {
    return check(wanted, path, among) ? outcome::equal : outcome::different;
  } catch (const std::invalid_argument& error) {
    const bool cannot_split = std::string_view(error.what()).starts_with("load_options.parallel");
    if (says(among)) std::cout << fmt::format("{}: {}\n", path, error.what()) << std::flush;
    return cannot_split || wanted.allow_refusals ? outcome::refused : outcome::different;
  } catch (const parallel::rank_error&) {
    throw;
  } catch (const std::exception& error) {
    std::cout << fmt::format("{}: {}\n", path, error.what()) << std::flush;
    if (among) throw;  // the other ranks wait for this one
    return wanted.allow_refusals ? outcome::refused : outcome::different;
  }
}

/// Each model has a group of ranks of its own: where it has had an engine, rank 0 alone gets logits.
bool check_all(const request& wanted, const std::function<ranks()>& make_ranks) {
  std::array<int, 3> counts{};
  bool leads = true;
  for (const auto& path : wanted.goldens) {
    const auto among = make_ranks();
    leads = says(among);
    ++counts.at(static_cast<std::size_t>(check_or_say_why_not(wanted, path, among)));
  }
  const auto [equal, refused, different] = counts;
  if (wanted.allow_refusals && leads)
    std::cout << fmt::format("{} equal, {} refused, {} different\n", equal, refused, different) << std::flush;
  return different == 0;
}

bool check_all_over_ranks(const request& wanted) {
  const auto [tensor, pipeline] = wanted.split;
  const auto group_over = [&](auto transport) {
    return [=] { return std::make_shared<parallel::rank_group>(transport, tensor, pipeline); };
  };
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return check_all(wanted, group_over(parallel::world()));
  std::atomic<bool> passed = true;
  test::run_ranks(tensor * pipeline, [&](auto transport) {
    if (!check_all(wanted, group_over(transport))) passed = false;
  });
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto wanted = parse(argc, argv);
    if (!wanted) return 2;
    const bool passed = wanted->is_split() ? check_all_over_ranks(*wanted) : check_all(*wanted, [] { return ranks(); });
    return passed ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
