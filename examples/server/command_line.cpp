#include "command_line.hpp"

#include <cogen/version.hpp>

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <sstream>
#include <stdexcept>

namespace server {
namespace {

namespace po = boost::program_options;

/// An option that has a value as long as none is given.
template <class Value>
po::typed_value<Value>* with_default(Value& value) {
  return po::value(&value)->default_value(value);
}

void add_server_options(po::options_description& options, command_line& arguments) {
  po::options_description some("Server");
  auto add = some.add_options();
  add("host", with_default(arguments.host), "the address to listen on");
  add("port", with_default(arguments.port), "0: one that is free");
  add("api-key-file", po::value(&arguments.api_key_file),
      "a file with one key a line, each a tenant; without it anyone may ask");
  add("operator-key-file", po::value(&arguments.operator_key_file),
      "a file with further keys, which alone may read /metrics, the figures of all keys, where there are several");
  add("tls-cert", po::value(&arguments.tls_certificate), "a certificate chain in PEM, for HTTPS");
  add("tls-key", po::value(&arguments.tls_key), "its private key in PEM");
  add("cors", po::value(&arguments.cors), "the origin whose pages may ask, or *; without it none but the server's own");
  add("allowed-hosts", po::value(&arguments.allowed_hosts),
      "hosts that requests and pages may name, with commas between them, or *; without it any, but on a loopback "
      "address without keys only that address");
  add("max-connections", with_default(arguments.max_connections), "at the same time; more are refused with 503");
  add("max-connections-per-address", with_default(arguments.max_connections_per_address), "of them, from one address");
  add("max-header-bytes", with_default(arguments.max_header_bytes), "of a request");
  add("max-body-bytes", with_default(arguments.max_body_bytes), "of a request");
  add("max-pending-body-bytes", with_default(arguments.max_pending_body_bytes),
      "of all bodies together whose answers have not begun, beyond the first 64 KiB of each; more wait, and are "
      "refused "
      "with 503 after the receive timeout");
  add("max-unread-answer-bytes", with_default(arguments.max_unread_answer_bytes),
      "of all answers together that clients have not read, beyond the first 64 KiB of each; more are refused with "
      "503");
  add("idle-timeout", with_default(arguments.idle_timeout), "seconds that a connection may wait for its next request");
  add("receive-timeout", with_default(arguments.receive_timeout), "seconds in which a request has to arrive whole");
  add("send-timeout", with_default(arguments.send_timeout),
      "seconds in which a client has to take what is written to it");
  add("ping-interval", with_default(arguments.ping_interval),
      "seconds between two signs of life in a stream without tokens");
  add("drain-timeout", with_default(arguments.drain_timeout),
      "seconds that answers may take after SIGTERM; 0: as long as they take");
  add("no-page", po::bool_switch(&arguments.no_page), "no page at /");
  add("no-slots", po::bool_switch(&arguments.no_slots), "no state of the slots at /slots");
  add("no-metrics", po::bool_switch(&arguments.no_metrics), "no figures at /metrics");
  add("log-requests", po::bool_switch(&arguments.log_requests),
      "a line of JSON on the standard error for each request");
  options.add(some);
}

void add_model_options(po::options_description& options, command_line& arguments) {
  po::options_description some("Models");
  auto add = some.add_options();
  add("model,m", po::value(&arguments.models),
      "PATH or NAME=PATH of a GGUF file or a Hugging Face folder, or NAME,ALIAS,...=PATH; several times for several "
      "models");
  add("chat-template-file", po::value(&arguments.chat_template_file), "a Jinja template instead of the models' own");
  add("device", with_default(arguments.device), "cpu, or of a build with devices cuda, cuda:N or reference");
  add("device-weights", with_default(arguments.device_weights),
      "whole, stored, int8, int4 or fp8: how a GPU stores matrices");
  add("compute-type", po::value(&arguments.compute_type),
      "float32 or int8: how products are computed on a CPU; without it int8 for quantized weights");
  add("threads", po::value(&arguments.threads), "that compute; without it all that the process may use");
  add("tensor", with_default(arguments.tensor),
      "processes that share each layer; mpirun starts tensor * pipeline of them");
  add("pipeline", with_default(arguments.pipeline), "groups of them that have some layers each");
  add("slots", with_default(arguments.slots), "sequences of a batch");
  add("max-length", po::value(&arguments.max_length),
      "tokens of a sequence, prompt included; without it the model's own limit");
  add("max-batched-tokens", po::value(&arguments.max_batched_tokens), "tokens of a step");
  add("target-step-ms", po::value(&arguments.target_step_ms),
      "how long a step with prompts and running streams should take");
  add("kv-dtype", po::value(&arguments.kv_dtype), "float32, float16, bfloat16 or fp8: the type of keys and values");
  add("kv-quantization", po::value(&arguments.kv_quantization),
      "int8 or int4: quantizes all but the newest keys and values");
  add("kv-gib", po::value(&arguments.kv_gib), "memory of the caches; without it half of the machine's");
  add("swap-gib", po::value(&arguments.swap_gib),
      "memory of swapped out caches; without it a quarter of the machine's");
  add("swap-directory", po::value(&arguments.swap_directory), "where caches beyond that go, in a file");
  add("no-prefix-caching", po::bool_switch(&arguments.no_prefix_caching),
      "computes equal beginnings of prompts each time");
  add("prefix-cache-directory", po::value(&arguments.prefix_cache), "keeps cached prefixes there between two runs");
  add("slot-save-path", po::value(&arguments.slot_save_path), "the directory where /slots/{id} saves and restores");
  add("slot-save-gib", with_default(arguments.slot_save_gib), "of a key's files there: more are refused");
  add("session-uploads", po::bool_switch(&arguments.session_uploads),
      "allows PUT /slots/{id}/session without keys, too: what anyone uploads then answers everyone");
  options.add(some);
}

void add_engine_options(po::options_description& options, command_line& arguments) {
  po::options_description some("Requests and metrics");
  auto add = some.add_options();
  add("queue", with_default(arguments.queue),
      "requests that may wait while no slot is free; more are refused with 429");
  add("max-sequences", with_default(arguments.max_sequences),
      "sequences that a model holds: running, idle and waiting");
  add("generation-config", with_default(arguments.generation_config),
      "how requests generate that do not say: auto, as the model's generation_config.json or GGUF file says; none or "
      "vllm, without either; or the path of another such file or folder");
  add("request-defaults", po::value(&arguments.request_defaults),
      R"(fields for requests that lack them, such as {"temperature": 0.8, "max_tokens": 500})");
  add("drafter", with_default(arguments.drafter),
      "none, prompt-lookup, suffix-tree, mtp or model: what guesses at the next tokens of requests, which come sooner "
      "then, and are the same");
  add("draft-model", po::value(&arguments.draft_model), "a smaller model of the same vocabulary, for --drafter model");
  add("max-draft-tokens", with_default(arguments.max_draft_tokens), "of a request in a step");
  add("scheduling", with_default(arguments.scheduling),
      "fcfs, priority, fair-share or deadline; with --api-key-file, fair-share unless given");
  add("metrics-names", with_default(arguments.metrics_names), "cogen, vllm or llamacpp: whose names /metrics has");
  add("trace", po::value(&arguments.trace),
      "a file for a trace of slots and steps, for ui.perfetto.dev; with several models, each has its name in front of "
      "the file's");
  options.add(some);
}

void add_event_options(po::options_description& options, command_line& arguments) {
  po::options_description some("KV-cache events, as vLLM publishes them");
  auto add = some.add_options();
  add("kv-events-endpoint", po::value(&arguments.kv_events_endpoint),
      "a ZeroMQ address to publish at, such as tcp://*:5557; without it none are");
  add("kv-events-replay-endpoint", po::value(&arguments.kv_events_replay_endpoint),
      "an address where they can be asked for again, such as tcp://*:5558");
  add("kv-events-topic", po::value(&arguments.kv_events_topic), "the topic of their messages");
  add("kv-events-block-size", with_default(arguments.kv_events_block_size), "tokens of a block");
  add("kv-events-encoding", with_default(arguments.kv_events_encoding),
      "map, or array as vLLM before June 2026 wrote them");
  options.add(some);
}

po::options_description all_options(command_line& arguments) {
  po::options_description options(
      "Serves models over HTTP, as OpenAI's API, Anthropic's and llama-server's do.\n\n"
      "cogen-server --model FILE --port N",
      110);
  options.add_options()("help,h", "show this and end")("version", "show the version and end");
  add_model_options(options, arguments);
  add_server_options(options, arguments);
  add_engine_options(options, arguments);
  add_event_options(options, arguments);
  return options;
}

}  // namespace

std::optional<command_line> read_command_line(int argc, const char* const* argv) try {
  command_line arguments;
  const auto options = all_options(arguments);
  po::variables_map values;
  po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), values);
  po::notify(values);
  if (values.contains("help")) {
    std::ostringstream text;
    text << options;
    fmt::print("{}", text.str());
    return std::nullopt;
  }
  if (values.contains("version")) {
    fmt::print("cogen-server {}\n", cogen::version);
    return std::nullopt;
  }
  for (const auto& [name, value] : values)
    if (!value.defaulted()) arguments.given.insert(name);
  return arguments;
} catch (const po::error& e) {
  throw std::invalid_argument(e.what());
}

}  // namespace server
