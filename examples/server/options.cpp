#include "options.hpp"

#include "command_line.hpp"

#include <cogen/policy.hpp>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

namespace server {
namespace {

template <class Value>
void require(bool holds, std::string_view name, const Value& value, std::string_view expected) {
  if (!holds) throw std::invalid_argument(fmt::format("--{} is {}; it must be {}", name, value, expected));
}

std::chrono::milliseconds milliseconds(std::string_view name, double seconds, double least) {
  require(seconds >= least && seconds <= 1e6, name, seconds, fmt::format("between {} and 1000000 seconds", least));
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::int64_t bytes(std::string_view name, double gib) {
  require(gib >= 0 && gib <= 1e6, name, gib, "between 0 and 1000000");
  return static_cast<std::int64_t>(gib * (1 << 30));
}

/// The parts of a text between commas, at least one.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) c == ',' ? void(names.emplace_back()) : names.back().push_back(c);
  return names;
}

model_option model_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && text.find('/') > equals) {
    auto names = names_in(text.substr(0, equals));
    return {names.front(), {names.begin() + 1, names.end()}, text.substr(equals + 1)};
  }
  const std::filesystem::path path(text);
  const auto last = path.has_filename() ? path : path.parent_path();
  return {last.extension() == ".gguf" ? last.stem().string() : last.filename().string(), {}, path};
}

std::vector<std::string> all_names(const model_option& model) {
  auto names = model.aliases;
  names.push_back(model.name);
  return names;
}

std::vector<model_option> models_of(const std::vector<std::string>& texts) {
  if (texts.empty()) throw std::invalid_argument("--model is missing; it must be a GGUF file or a Hugging Face folder");
  std::vector<model_option> models;
  std::set<std::string> taken;
  for (const auto& text : texts) {
    auto model = model_of(text);
    require(!model.path.empty(), "model", text, "PATH or NAME=PATH");
    for (const auto& name : all_names(model)) {
      require(!name.empty(), "model", text, "PATH or NAME=PATH");
      require(taken.insert(name).second, "model", text, "of other names than the models before it");
    }
    models.push_back(std::move(model));
  }
  return models;
}

std::ifstream opened(std::string_view option, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(fmt::format("--{} is {}, which cannot be read", option, path));
  return file;
}

std::vector<std::string> keys_in(std::string_view option, const std::string& path) {
  if (path.empty()) return {};
  auto file = opened(option, path);
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) throw std::invalid_argument(fmt::format("--{} is {}, which holds no key", option, path));
  return keys;
}

cogen::cache::scalar scalar_of(const std::string& name) {
  using cogen::cache::scalar;
  if (name == "float32") return scalar::f32;
  if (name == "float16") return scalar::f16;
  if (name == "bfloat16") return scalar::bf16;
  require(name == "fp8", "kv-dtype", name, "float32, float16, bfloat16 or fp8");
  return scalar::fp8;
}

/// Where there are keys, none of them keeps others out, unless the command line says so.
std::string scheduling_of(const command_line& given) {
  const bool has_keys = given.has("api-key-file") || given.has("operator-key-file");
  return !given.has("scheduling") && has_keys ? "fair-share" : given.scheduling;
}

/// An operator's key is a key like the others. Of one that is given twice, the file for operators counts.
void set_keys(const command_line& given, options& result) {
  result.operator_keys = keys_in("operator-key-file", given.operator_key_file);
  result.api_keys = keys_in("api-key-file", given.api_key_file);
  for (const auto& each : result.operator_keys)
    if (!std::ranges::count(result.api_keys, each)) result.api_keys.push_back(each);
}

void set_scheduling(const std::string& name, cogen::policy_options& policies) {
  namespace scheduler = cogen::scheduler;
  if (name == "priority")
    policies.scheduling = [] { return scheduler::by_priority(); };
  else if (name == "fair-share")
    policies.scheduling = [] { return scheduler::fair_share(); };
  else if (name == "deadline")
    policies.scheduling = [] { return scheduler::earliest_deadline_first(); };
  else
    require(name == "fcfs", "scheduling", name, "fcfs, priority, fair-share or deadline");
}

cogen::kv_options kv_of(const command_line& given) {
  cogen::kv_options kv;
  if (!given.kv_dtype.empty()) kv.dtype = scalar_of(given.kv_dtype);
  if (given.kv_quantization == "int8")
    kv.quantization = cogen::cache::int8();
  else if (given.kv_quantization == "int4")
    kv.quantization = cogen::cache::int4();
  else
    require(given.kv_quantization.empty(), "kv-quantization", given.kv_quantization, "int8 or int4");
  if (given.kv_gib != 0) kv.bytes = bytes("kv-gib", given.kv_gib);
  kv.prefix_caching = !given.no_prefix_caching;
  kv.prefix_cache_directory = given.prefix_cache;
  kv.event_block_size = given.kv_events_block_size;
  return kv;
}

cogen::compute_type compute_type_named(const std::string& name) {
  require(name == "float32" || name == "int8", "compute-type", name, "float32 or int8");
  return name == "int8" ? cogen::compute_type::int8 : cogen::compute_type::float32;
}

cogen::engine_options engine_of(const command_line& given) {
  cogen::engine_options engine{.batching = {.slots = given.slots}, .kv = kv_of(given)};
  if (given.has("max-batched-tokens")) engine.batching.max_batched_tokens = given.max_batched_tokens;
  if (given.has("target-step-ms")) {
    require(given.target_step_ms > 0, "target-step-ms", given.target_step_ms, "more than 0");
    engine.batching.target_step_latency =
        std::chrono::microseconds(static_cast<std::int64_t>(given.target_step_ms * 1000));
  }
  if (given.has("max-length")) engine.limits.max_sequence_length = given.max_length;
  engine.limits.max_waiting = given.queue;
  engine.limits.max_sequences = given.max_sequences;
  if (given.has("swap-gib")) engine.swap.bytes = bytes("swap-gib", given.swap_gib);
  engine.swap.directory = given.swap_directory;
  set_scheduling(scheduling_of(given), engine.policies);
  if (given.has("compute-type")) engine.compute_type = compute_type_named(given.compute_type);
  if (given.has("threads")) engine.threads = given.threads;
  return engine;
}

cogen::load_options loading_of(const command_line& given) {
  cogen::load_options loading;
  loading.device = given.device;
  if (!given.chat_template_file.empty()) {
    auto file = opened("chat-template-file", given.chat_template_file);
    loading.chat_template = std::string(std::istreambuf_iterator<char>(file), {});
  }
  if (given.has("threads")) loading.threads = given.threads;
  loading.parallel = {.tensor = given.tensor, .pipeline = given.pipeline};
  require(given.models.size() == 1 || given.tensor * given.pipeline == 1, "tensor and --pipeline",
          given.tensor * given.pipeline, "1 with several models");
  if (given.device_weights == "stored")
    loading.device_weights = cogen::device_weights::stored;
  else if (given.device_weights == "int8")
    loading.device_weights = cogen::device_weights::int8;
  else if (given.device_weights == "int4")
    loading.device_weights = cogen::device_weights::int4;
  else if (given.device_weights == "fp8")
    loading.device_weights = cogen::device_weights::fp8;
  else
    require(given.device_weights == "whole", "device-weights", given.device_weights,
            "whole, stored, int8, int4 or fp8");
  return loading;
}

metrics_names names_of(const std::string& text) {
  if (text == "vllm") return metrics_names::vllm;
  if (text == "llamacpp") return metrics_names::llamacpp;
  require(text == "cogen", "metrics-names", text, "cogen, vllm or llamacpp");
  return metrics_names::cogen;
}

boost::json::object defaults_in(const std::string& text) {
  boost::json::error_code error;
  auto value = boost::json::parse(text, error);
  require(!error && value.is_object(), "request-defaults", text, "a JSON object");
  return std::move(value.as_object());
}

drafter_kind drafter_named(const std::string& name) {
  if (name == "prompt-lookup") return drafter_kind::prompt_lookup;
  if (name == "suffix-tree") return drafter_kind::suffix_tree;
  if (name == "mtp") return drafter_kind::mtp;
  if (name == "model") return drafter_kind::model;
  require(name == "none", "drafter", name, "none, prompt-lookup, suffix-tree, mtp or model");
  return drafter_kind::none;
}

speculation_options speculation_of(const command_line& given) {
  const auto& model = given.draft_model;
  const auto kind = model.empty() || given.has("drafter") ? drafter_named(given.drafter) : drafter_kind::model;
  require(kind == drafter_kind::model || model.empty(), "draft-model", model, "given with --drafter model");
  require(kind != drafter_kind::model || !model.empty(), "draft-model", "missing", "the path of a model");
  require(model.empty() || given.models.size() == 1, "draft-model", model, "given with one model alone");
  require(given.max_draft_tokens >= 1, "max-draft-tokens", given.max_draft_tokens, "at least 1");
  return {.kind = kind, .model = model, .max_draft_tokens = given.max_draft_tokens};
}

http::listener_limits listener_limits_of(const command_line& given) {
  const int total = given.max_connections, per_address = given.max_connections_per_address;
  require(total >= 1, "max-connections", total, "at least 1");
  require(per_address >= 1, "max-connections-per-address", per_address, "at least 1");
  return {.connections = static_cast<std::size_t>(total),
          .connections_per_address = static_cast<std::size_t>(per_address)};
}

http::connection_limits limits_of(const command_line& given) {
  require(given.max_header_bytes >= 256 && given.max_header_bytes <= (1 << 20), "max-header-bytes",
          given.max_header_bytes, "between 256 and 1048576");
  require(given.max_body_bytes >= 1, "max-body-bytes", given.max_body_bytes, "at least 1");
  return {.header = static_cast<std::size_t>(given.max_header_bytes),
          .body = static_cast<std::uint64_t>(given.max_body_bytes),
          .idle = milliseconds("idle-timeout", given.idle_timeout, 0.001),
          .receive = milliseconds("receive-timeout", given.receive_timeout, 0.001),
          .send = milliseconds("send-timeout", given.send_timeout, 0.001)};
}

kv_events::publisher_options kv_events_of(const command_line& given) {
  const auto& endpoint = given.kv_events_endpoint;
  require(!endpoint.empty() || given.kv_events_replay_endpoint.empty(), "kv-events-replay-endpoint",
          given.kv_events_replay_endpoint, "given together with --kv-events-endpoint");
  require(endpoint.empty() || given.models.size() == 1, "kv-events-endpoint", endpoint, "given with one model alone");
  require(given.kv_events_block_size >= 1, "kv-events-block-size", given.kv_events_block_size, "at least 1");
  const auto& encoding = given.kv_events_encoding;
  require(encoding == "map" || encoding == "array", "kv-events-encoding", encoding, "map or array");
  return {.endpoint = endpoint,
          .replay_endpoint = given.kv_events_replay_endpoint,
          .topic = given.kv_events_topic,
          .block_size = given.kv_events_block_size,
          .encoding = encoding == "map" ? kv_events::encoding::map : kv_events::encoding::array};
}

options checked(const command_line& given) {
  options result;
  result.models = models_of(given.models);
  result.host = given.host;
  require(given.port >= 0 && given.port <= 65535, "port", given.port, "between 0 and 65535");
  result.port = static_cast<unsigned short>(given.port);
  set_keys(given, result);
  require(given.tls_certificate.empty() == given.tls_key.empty(), "tls-key",
          given.tls_key.empty() ? "missing" : given.tls_key, "given together with --tls-cert");
  result.tls_certificate = given.tls_certificate;
  result.tls_key = given.tls_key;
  result.cors = given.cors;
  require(http::is_header_text(result.cors), "cors", result.cors, "an origin or *");
  if (!given.allowed_hosts.empty()) result.allowed_hosts = names_in(given.allowed_hosts);
  result.listener = listener_limits_of(given);
  result.connections = limits_of(given);
  require(given.max_pending_body_bytes >= given.max_body_bytes, "max-pending-body-bytes", given.max_pending_body_bytes,
          fmt::format("at least --max-body-bytes, which is {}", given.max_body_bytes));
  result.max_pending_body_bytes = static_cast<std::uint64_t>(given.max_pending_body_bytes);
  require(given.max_unread_answer_bytes >= 0, "max-unread-answer-bytes", given.max_unread_answer_bytes, "at least 0");
  result.max_unread_answer_bytes = static_cast<std::uint64_t>(given.max_unread_answer_bytes);
  result.ping = milliseconds("ping-interval", given.ping_interval, 0.001);
  result.drain =
      std::chrono::duration_cast<std::chrono::seconds>(milliseconds("drain-timeout", given.drain_timeout, 0));
  result.loading = loading_of(given);
  result.engine = engine_of(given);
  result.speculation = speculation_of(given);
  result.loading.multi_token_prediction = result.speculation.kind == drafter_kind::mtp;
  result.generation_config = given.generation_config;
  result.kv_events = kv_events_of(given);
  result.names = names_of(given.metrics_names);
  result.slot_save_path = given.slot_save_path;
  result.max_saved_bytes = static_cast<std::uint64_t>(bytes("slot-save-gib", given.slot_save_gib));
  result.session_uploads = given.session_uploads;
  result.trace = given.trace;
  result.log_requests = given.log_requests;
  result.defaults = defaults_in(given.request_defaults);
  result.page = !given.no_page;
  result.slots = !given.no_slots;
  result.metrics = !given.no_metrics;
  return result;
}

}  // namespace

std::optional<options> read_options(int argc, const char* const* argv) {
  const auto given = read_command_line(argc, argv);
  return given ? std::optional(checked(*given)) : std::nullopt;
}

}  // namespace server
