#include "metrics/exposition.hpp"

#include "api/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

namespace server::metrics {
namespace {

/// A gauge or a counter, and what each server calls it; empty: that one has none.
struct figure {
  std::string_view kind;
  std::string_view cogen, vllm, llamacpp;
  std::string_view help;
  double (*value)(const snapshot&);
};

double ratio(double numerator, double denominator) { return denominator > 0 ? numerator / denominator : 0; }

double number(std::uint64_t count) { return static_cast<double>(count); }

const figure figures[] = {
    {"gauge", "cogen:requests_running", "", "", "Sequences that have a slot.",
     [](const snapshot& now) { return double(now.stats.scheduled); }},
    {"gauge", "", "vllm:num_requests_running", "llamacpp:requests_processing",
     "Sequences that have a slot, and texts that are embedded or scored.",
     [](const snapshot& now) { return double(now.stats.scheduled) + number(now.counted.running_texts); }},
    {"gauge", "cogen:requests_waiting", "vllm:num_requests_waiting", "llamacpp:requests_deferred",
     "Sequences that want a slot and have none.", [](const snapshot& now) { return double(now.stats.waiting); }},
    {"gauge", "cogen:formats_compiling", "", "", "Response formats that are compiled, or wait for it.",
     [](const snapshot& now) { return double(now.stats.compiling); }},
    {"gauge", "cogen:requests_preempted", "", "", "Of those that wait, sequences that had a slot before.",
     [](const snapshot& now) { return double(std::max(0, now.stats.waiting - now.stats.queued)); }},
    {"gauge", "cogen:sequences", "", "", "Sequences that the engine holds.",
     [](const snapshot& now) { return double(now.stats.sequences); }},
    {"gauge", "cogen:slots", "", "", "Sequences that can run at the same time.",
     [](const snapshot& now) { return double(now.slots); }},
    {"gauge", "cogen:kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", "llamacpp:kv_cache_usage_ratio",
     "Memory of the caches that is reserved, as a part of what there is.",
     [](const snapshot& now) { return ratio(double(now.stats.cache_bytes), double(now.cache_capacity)); }},
    {"gauge", "cogen:prefix_cached_slots", "", "", "Slots that hold prefixes of ended sequences.",
     [](const snapshot& now) { return double(now.stats.prefix_cached_slots); }},
    {"gauge", "cogen:swap_bytes", "", "", "Memory of caches that are swapped out.",
     [](const snapshot& now) { return double(now.stats.swap_bytes); }},
    {"gauge", "", "", "llamacpp:n_busy_slots_per_decode", "Mean batch.",
     [](const snapshot& now) { return ratio(number(now.stats.rows), number(now.stats.steps)); }},
    {"gauge", "", "", "llamacpp:prompt_tokens_seconds", "Prompt tokens a second.",
     [](const snapshot& now) { return ratio(number(now.counted.prefilled_tokens), now.counted.prefill_seconds); }},
    {"gauge", "", "", "llamacpp:predicted_tokens_seconds", "Generated tokens a second.",
     [](const snapshot& now) { return ratio(number(now.stats.sampled), now.counted.decode_seconds); }},
    {"counter", "cogen:prompt_tokens_total", "", "", "Tokens of prompts that were computed.",
     [](const snapshot& now) { return number(now.counted.prefilled_tokens); }},
    {"counter", "", "", "llamacpp:prompt_tokens_total", "Tokens of prompts and of embedded texts that were computed.",
     [](const snapshot& now) { return number(now.counted.prefilled_tokens + now.counted.text_tokens); }},
    {"counter", "", "vllm:prompt_tokens_total", "", "Tokens of prompts and of embedded texts.",
     [](const snapshot& now) {
       return number(now.counted.prefilled_tokens + now.stats.prefix_hit_tokens + now.counted.text_tokens);
     }},
    {"gauge", "cogen:texts_running", "", "", "Texts that are embedded or scored.",
     [](const snapshot& now) { return number(now.counted.running_texts); }},
    {"counter", "cogen:texts_total", "", "", "Texts that were embedded or scored.",
     [](const snapshot& now) { return number(now.counted.texts); }},
    {"counter", "cogen:text_tokens_total", "", "", "Tokens of those texts.",
     [](const snapshot& now) { return number(now.counted.text_tokens); }},
    {"counter", "cogen:prefix_hit_tokens_total", "vllm:prefix_cache_hits_total", "llamacpp:prompt_tokens_cached_total",
     "Tokens of prompts found in the prefix cache.",
     [](const snapshot& now) { return number(now.stats.prefix_hit_tokens); }},
    {"counter", "", "vllm:prefix_cache_queries_total", "", "Tokens of prompts looked for in the prefix cache.",
     [](const snapshot& now) { return number(now.counted.prefilled_tokens + now.stats.prefix_hit_tokens); }},
    {"counter", "cogen:generation_tokens_total", "vllm:generation_tokens_total", "llamacpp:tokens_predicted_total",
     "Tokens that were generated.", [](const snapshot& now) { return number(now.stats.sampled); }},
    {"counter", "cogen:prompt_seconds_total", "", "llamacpp:prompt_seconds_total",
     "Time of steps that read prompts alone.", [](const snapshot& now) { return now.counted.prefill_seconds; }},
    {"counter", "cogen:generation_seconds_total", "", "llamacpp:tokens_predicted_seconds_total",
     "Time of steps that generated.", [](const snapshot& now) { return now.counted.decode_seconds; }},
    {"counter", "cogen:steps_total", "", "llamacpp:n_decode_total", "Forward passes.",
     [](const snapshot& now) { return number(now.stats.steps); }},
    {"counter", "cogen:step_rows_total", "", "", "Sequences in the batches of all steps.",
     [](const snapshot& now) { return number(now.stats.rows); }},
    {"counter", "cogen:preemptions_total", "vllm:num_preemptions_total", "",
     "Sequences that gave up their slot before they ended.",
     [](const snapshot& now) { return number(now.stats.preempted); }},
    {"counter", "cogen:swaps_total", "", "", "Of those, how many were swapped out.",
     [](const snapshot& now) { return number(now.stats.swapped_out); }},
    {"counter", "cogen:refused_total", "", "", "Requests that were not accepted.",
     [](const snapshot& now) { return number(now.stats.refused); }},
    {"counter", "cogen:draft_tokens_total", "vllm:spec_decode_num_draft_tokens_total",
     "llamacpp:spec_decode_num_draft_tokens_total", "Draft tokens that were run.",
     [](const snapshot& now) { return number(now.stats.draft_tokens); }},
    {"counter", "cogen:accepted_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total",
     "llamacpp:spec_decode_num_accepted_tokens_total", "Of those, how many were right.",
     [](const snapshot& now) { return number(now.stats.accepted_draft_tokens); }},
    {"gauge", "", "", "llamacpp:n_tokens_max", "Tokens of the longest sequence.",
     [](const snapshot& now) { return number(now.counted.largest_sequence); }},
};

struct distribution {
  std::string_view cogen, vllm, help;
  histogram counts::*values;
};

const distribution distributions[] = {
    {"cogen:time_to_first_token_seconds", "vllm:time_to_first_token_seconds", "From a request to its first token.",
     &counts::first_token},
    {"cogen:inter_token_latency_seconds", "vllm:inter_token_latency_seconds", "Between two tokens of a request.",
     &counts::inter_token},
    {"cogen:request_seconds", "vllm:e2e_request_latency_seconds", "From a request to its end.", &counts::total},
    {"cogen:queue_seconds", "vllm:request_queue_time_seconds", "From a request to its first slot.", &counts::queued},
};

constexpr std::string_view reason_names[counts::reasons] = {"stop",  "stop_string", "length",
                                                            "abort", "error",       "deadline"};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

class writer {
 public:
  writer(std::span<const snapshot> models, metrics_names names) : models_(models), names_(names) {}

  std::string text() {
    for (const auto& each : figures) add(each);
    add_finished();
    if (names_ != metrics_names::llamacpp)
      for (const auto& each : distributions) add(each);
    return std::move(text_);
  }

 private:
  /// The labels of a model's figure, with one more before them. llama.cpp's server has one model, and no labels.
  std::string labels(const snapshot& model, const std::string& more = {}) const {
    if (names_ == metrics_names::llamacpp && models_.size() == 1) return more.empty() ? "" : "{" + more + "}";
    const auto label = names_ == metrics_names::vllm ? "model_name" : "model";
    return fmt::format("{{{}{}{}=\"{}\"}}", more, more.empty() ? "" : ",", label, escaped(model.model));
  }

  void head(std::string_view name, std::string_view kind, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, kind, help);
  }

  void line(std::string_view name, const std::string& with, double value) {
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", name, with, api::number_text(value));
  }

  void add(const figure& entry) {
    const auto name = names_ == metrics_names::cogen  ? entry.cogen
                      : names_ == metrics_names::vllm ? entry.vllm
                                                      : entry.llamacpp;
    if (name.empty()) return;
    head(name, entry.kind, entry.help);
    for (const auto& model : models_) line(name, labels(model), entry.value(model));
  }

  void add_finished() {
    if (names_ == metrics_names::llamacpp) return;
    const std::string_view name = names_ == metrics_names::vllm ? "vllm:request_success_total" : "cogen:finished_total";
    const auto label = names_ == metrics_names::vllm ? "finished_reason" : "reason";
    head(name, "counter", "Generations that have ended, by how.");
    for (const auto& model : models_)
      for (std::size_t i = 0; i < counts::reasons; ++i)
        line(name, labels(model, fmt::format("{}=\"{}\"", label, reason_names[i])), number(ended(model, i)));
  }

  /// vLLM counts texts that were embedded, too, which end as they should.
  std::uint64_t ended(const snapshot& model, std::size_t reason) const {
    const bool adds_texts = names_ == metrics_names::vllm && reason == 0;
    return model.counted.finished[reason] + (adds_texts ? model.counted.texts : 0);
  }

  void add(const distribution& entry) {
    const auto name = std::string(names_ == metrics_names::vllm ? entry.vllm : entry.cogen);
    head(name, "histogram", entry.help);
    for (const auto& model : models_) {
      const auto& values = model.counted.*entry.values;
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < values.counts().size(); ++i) {
        below += values.counts()[i];
        const auto bound = i < values.bounds().size() ? api::number_text(values.bounds()[i]) : "+Inf";
        line(name + "_bucket", labels(model, fmt::format("le=\"{}\"", bound)), number(below));
      }
      line(name + "_sum", labels(model), values.sum());
      line(name + "_count", labels(model), number(below));
    }
  }

  std::span<const snapshot> models_;
  metrics_names names_;
  std::string text_;
};

}  // namespace

std::string exposition(std::span<const snapshot> models, metrics_names names) { return writer(models, names).text(); }

}  // namespace server::metrics
