#include "options.hpp"

#include <boost/json/parse.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace server {
namespace {

namespace po = boost::program_options;

/// The values of the command line as they are written, with the defaults of `options`.
struct written {
  std::vector<std::string> models;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string api_key_file, tls_certificate, tls_key, cors;
  int max_connections = 4096;
  std::int64_t max_header_bytes = 16 << 10, max_body_bytes = 16 << 20;
  double idle_timeout = 75, receive_timeout = 30, send_timeout = 600, ping_interval = 15, drain_timeout = 0;
  std::string device = "cpu", device_weights = "whole", compute_type, kv_dtype, kv_quantization;
  int tensor = 1, pipeline = 1, slots = 16, max_length = 0, threads = 0, queue = 1024, max_sequences = 4096,
      max_batched_tokens = 0;
  double target_step_ms = 0, kv_gib = 0, swap_gib = -1;
  std::string chat_template_file;
  std::string scheduling = "fcfs", metrics_names = "cogen", prefix_cache, swap_directory, slot_save_path, trace;
  std::string kv_events_endpoint, kv_events_replay_endpoint, kv_events_topic, kv_events_encoding = "map";
  int kv_events_block_size = 16;
  bool no_prefix_caching = false, log_requests = false, no_page = false, no_slots = false, no_metrics = false;
  std::string request_defaults = "{}";
};

/// An option that has a value as long as none is given.
template <class Value>
po::typed_value<Value>* with_default(Value& value) {
  return po::value(&value)->default_value(value);
}

void add_server_options(po::options_description& all, written& into) {
  po::options_description some("Server");
  auto add = some.add_options();
  add("host", with_default(into.host), "the address to listen on");
  add("port", with_default(into.port), "0: one that is free");
  add("api-key-file", po::value(&into.api_key_file),
      "a file with one key a line, each a tenant; without it anyone may ask");
  add("tls-cert", po::value(&into.tls_certificate), "a certificate chain in PEM, for HTTPS");
  add("tls-key", po::value(&into.tls_key), "its private key in PEM");
  add("cors", po::value(&into.cors), "the origin whose pages may ask, or *; without it none but the server's own");
  add("max-connections", with_default(into.max_connections), "at the same time");
  add("max-header-bytes", with_default(into.max_header_bytes), "of a request");
  add("max-body-bytes", with_default(into.max_body_bytes), "of a request");
  add("idle-timeout", with_default(into.idle_timeout), "seconds that a connection may wait for its next request");
  add("receive-timeout", with_default(into.receive_timeout), "seconds in which a request has to arrive whole");
  add("send-timeout", with_default(into.send_timeout), "seconds in which a client has to take what is written to it");
  add("ping-interval", with_default(into.ping_interval),
      "seconds between two signs of life in a stream without tokens");
  add("drain-timeout", with_default(into.drain_timeout),
      "seconds that answers may take after SIGTERM; 0: as long as they take");
  add("no-page", po::bool_switch(&into.no_page), "no page at /");
  add("no-slots", po::bool_switch(&into.no_slots), "no state of the slots at /slots");
  add("no-metrics", po::bool_switch(&into.no_metrics), "no figures at /metrics");
  add("log-requests", po::bool_switch(&into.log_requests), "a line of JSON on the standard error for each request");
  all.add(some);
}

void add_model_options(po::options_description& all, written& into) {
  po::options_description some("Models");
  auto add = some.add_options();
  add("model,m", po::value(&into.models),
      "PATH or NAME=PATH of a GGUF file or a Hugging Face folder, or NAME,ALIAS,...=PATH; several times for several "
      "models");
  add("chat-template-file", po::value(&into.chat_template_file), "a Jinja template instead of the models' own");
  add("device", with_default(into.device), "cpu, cuda, cuda:N or reference");
  add("device-weights", with_default(into.device_weights),
      "whole, stored, int8, int4 or fp8: how a GPU stores matrices");
  add("compute-type", po::value(&into.compute_type),
      "float32 or int8: how products are computed on a CPU; without it int8 for quantized weights");
  add("threads", po::value(&into.threads), "that compute; without it all that the process may use");
  add("tensor", with_default(into.tensor), "processes that share each layer; mpirun starts tensor * pipeline of them");
  add("pipeline", with_default(into.pipeline), "groups of them that have some layers each");
  add("slots", with_default(into.slots), "sequences of a batch");
  add("max-length", po::value(&into.max_length),
      "tokens of a sequence, prompt included; without it the model's own limit");
  add("max-batched-tokens", po::value(&into.max_batched_tokens), "tokens of a step");
  add("target-step-ms", po::value(&into.target_step_ms),
      "how long a step with prompts and running streams should take");
  add("kv-dtype", po::value(&into.kv_dtype), "float32, float16, bfloat16 or fp8: the type of keys and values");
  add("kv-quantization", po::value(&into.kv_quantization),
      "int8 or int4: quantizes all but the newest keys and values");
  add("kv-gib", po::value(&into.kv_gib), "memory of the caches; without it half of the machine's");
  add("swap-gib", po::value(&into.swap_gib), "memory of swapped out caches; without it a quarter of the machine's");
  add("swap-directory", po::value(&into.swap_directory), "where caches beyond that go, in a file");
  add("no-prefix-caching", po::bool_switch(&into.no_prefix_caching), "computes equal beginnings of prompts each time");
  add("prefix-cache-directory", po::value(&into.prefix_cache), "keeps cached prefixes there between two runs");
  add("slot-save-path", po::value(&into.slot_save_path), "the directory of /slots/{id}?action=save and restore");
  all.add(some);
}

void add_engine_options(po::options_description& all, written& into) {
  po::options_description some("Requests and metrics");
  auto add = some.add_options();
  add("queue", with_default(into.queue), "requests that may wait; more are refused with 429");
  add("max-sequences", with_default(into.max_sequences), "sequences that a model holds: running, idle and waiting");
  add("request-defaults", po::value(&into.request_defaults),
      R"(fields for requests that lack them, such as {"temperature": 0.8, "max_tokens": 500})");
  add("scheduling", with_default(into.scheduling), "fcfs, priority, fair-share or deadline");
  add("metrics-names", with_default(into.metrics_names), "cogen, vllm or llamacpp: whose names /metrics has");
  add("trace", po::value(&into.trace),
      "a file for a trace of slots and steps, for ui.perfetto.dev; with several models, each has its name in front of "
      "the file's");
  all.add(some);
}

void add_event_options(po::options_description& all, written& into) {
  po::options_description some("KV-cache events, as vLLM publishes them");
  auto add = some.add_options();
  add("kv-events-endpoint", po::value(&into.kv_events_endpoint),
      "a ZeroMQ address to publish at, such as tcp://*:5557; without it none are");
  add("kv-events-replay-endpoint", po::value(&into.kv_events_replay_endpoint),
      "an address where they can be asked for again, such as tcp://*:5558");
  add("kv-events-topic", po::value(&into.kv_events_topic), "the topic of their messages");
  add("kv-events-block-size", with_default(into.kv_events_block_size), "tokens of a block");
  add("kv-events-encoding", with_default(into.kv_events_encoding), "map, or array as vLLM before June 2026 wrote them");
  all.add(some);
}

template <class Value>
void require(bool holds, std::string_view name, const Value& value, std::string_view what) {
  if (!holds) throw std::invalid_argument(fmt::format("--{} is {}; it must be {}", name, value, what));
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

std::vector<std::string> all_names(const model_option& one) {
  auto names = one.aliases;
  names.push_back(one.name);
  return names;
}

std::vector<model_option> models_of(const std::vector<std::string>& texts) {
  if (texts.empty()) throw std::invalid_argument("--model is missing; it must be a GGUF file or a Hugging Face folder");
  std::vector<model_option> models;
  std::set<std::string> taken;
  for (const auto& text : texts) {
    auto one = model_of(text);
    require(!one.path.empty(), "model", text, "PATH or NAME=PATH");
    for (const auto& name : all_names(one)) {
      require(!name.empty(), "model", text, "PATH or NAME=PATH");
      require(taken.insert(name).second, "model", text, "of other names than the models before it");
    }
    models.push_back(std::move(one));
  }
  return models;
}

std::ifstream opened(std::string_view option, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(fmt::format("--{} is {}, which cannot be read", option, path));
  return file;
}

std::vector<std::string> keys_in(const std::string& path) {
  if (path.empty()) return {};
  auto file = opened("api-key-file", path);
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) throw std::invalid_argument(fmt::format("--api-key-file is {}, which holds no key", path));
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

void set_scheduling(const std::string& name, cogen::policy_options& into) {
  namespace scheduler = cogen::scheduler;
  if (name == "priority")
    into.scheduling = [] { return scheduler::by_priority(); };
  else if (name == "fair-share")
    into.scheduling = [] { return scheduler::fair_share(); };
  else if (name == "deadline")
    into.scheduling = [] { return scheduler::earliest_deadline_first(); };
  else
    require(name == "fcfs", "scheduling", name, "fcfs, priority, fair-share or deadline");
}

cogen::kv_options kv_of(const written& given) {
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

cogen::engine_options engine_of(const written& given, const po::variables_map& is) {
  cogen::engine_options engine{.batching = {.slots = given.slots}, .kv = kv_of(given)};
  if (is.contains("max-batched-tokens")) engine.batching.max_batched_tokens = given.max_batched_tokens;
  if (is.contains("target-step-ms")) {
    require(given.target_step_ms > 0, "target-step-ms", given.target_step_ms, "more than 0");
    engine.batching.target_step_latency =
        std::chrono::microseconds(static_cast<std::int64_t>(given.target_step_ms * 1000));
  }
  if (is.contains("max-length")) engine.limits.max_sequence_length = given.max_length;
  engine.limits.max_waiting = given.queue;
  engine.limits.max_sequences = given.max_sequences;
  if (is.contains("swap-gib")) engine.swap.bytes = bytes("swap-gib", given.swap_gib);
  engine.swap.directory = given.swap_directory;
  set_scheduling(given.scheduling, engine.policies);
  if (is.contains("compute-type")) engine.compute_type = compute_type_named(given.compute_type);
  if (is.contains("threads")) engine.threads = given.threads;
  return engine;
}

cogen::load_options loading_of(const written& given, const po::variables_map& is) {
  cogen::load_options loading;
  loading.device = given.device;
  if (!given.chat_template_file.empty()) {
    auto file = opened("chat-template-file", given.chat_template_file);
    loading.chat_template = std::string(std::istreambuf_iterator<char>(file), {});
  }
  if (is.contains("threads")) loading.threads = given.threads;
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

http::connection_limits limits_of(const written& given) {
  require(given.max_header_bytes >= 256 && given.max_header_bytes <= (1 << 20), "max-header-bytes",
          given.max_header_bytes, "between 256 and 1048576");
  require(given.max_body_bytes >= 1, "max-body-bytes", given.max_body_bytes, "at least 1");
  return {.request = {.header = static_cast<std::size_t>(given.max_header_bytes),
                      .body = static_cast<std::uint64_t>(given.max_body_bytes)},
          .idle = milliseconds("idle-timeout", given.idle_timeout, 0.001),
          .receive = milliseconds("receive-timeout", given.receive_timeout, 0.001),
          .send = milliseconds("send-timeout", given.send_timeout, 0.001)};
}

kv_events::publisher_options kv_events_of(const written& given) {
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

options checked(const written& given, const po::variables_map& is) {
  options all;
  all.models = models_of(given.models);
  all.host = given.host;
  require(given.port >= 0 && given.port <= 65535, "port", given.port, "between 0 and 65535");
  all.port = static_cast<unsigned short>(given.port);
  all.api_keys = keys_in(given.api_key_file);
  require(given.tls_certificate.empty() == given.tls_key.empty(), "tls-key",
          given.tls_key.empty() ? "missing" : given.tls_key, "given together with --tls-cert");
  all.tls_certificate = given.tls_certificate;
  all.tls_key = given.tls_key;
  all.cors = given.cors;
  require(http::is_header_text(all.cors), "cors", all.cors, "an origin or *");
  require(given.max_connections >= 1, "max-connections", given.max_connections, "at least 1");
  all.max_connections = given.max_connections;
  all.connections = limits_of(given);
  all.ping = milliseconds("ping-interval", given.ping_interval, 0.001);
  all.drain = std::chrono::duration_cast<std::chrono::seconds>(milliseconds("drain-timeout", given.drain_timeout, 0));
  all.loading = loading_of(given, is);
  all.engine = engine_of(given, is);
  all.kv_events = kv_events_of(given);
  all.names = names_of(given.metrics_names);
  all.slot_save_path = given.slot_save_path;
  all.trace = given.trace;
  all.log_requests = given.log_requests;
  all.defaults = defaults_in(given.request_defaults);
  all.page = !given.no_page;
  all.slots = !given.no_slots;
  all.metrics = !given.no_metrics;
  return all;
}

}  // namespace

std::optional<options> read_options(int argc, const char* const* argv) try {
  po::options_description all(
      "Serves models over HTTP, as OpenAI's API, Anthropic's and llama-server's do.\n\n"
      "cogen-server --model FILE --port N",
      110);
  written into;
  all.add_options()("help,h", "show this and end");
  add_model_options(all, into);
  add_server_options(all, into);
  add_engine_options(all, into);
  add_event_options(all, into);
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), given);
  po::notify(given);
  if (given.contains("help")) {
    std::ostringstream text;
    text << all;
    fmt::print("{}", text.str());
    return std::nullopt;
  }
  return checked(into, given);
} catch (const po::error& e) {
  throw std::invalid_argument(e.what());
}

}  // namespace server
