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

void add_server_options(po::options_description& all, command_line& into) {
  po::options_description some("Server");
  auto add = some.add_options();
  add("host", with_default(into.host), "the address to listen on");
  add("port", with_default(into.port), "0: one that is free");
  add("api-key-file", po::value(&into.api_key_file),
      "a file with one key a line, each a tenant; without it anyone may ask");
  add("operator-key-file", po::value(&into.operator_key_file),
      "a file with further keys, which alone may read /metrics, the figures of all keys, where there are several");
  add("tls-cert", po::value(&into.tls_certificate), "a certificate chain in PEM, for HTTPS");
  add("tls-key", po::value(&into.tls_key), "its private key in PEM");
  add("cors", po::value(&into.cors), "the origin whose pages may ask, or *; without it none but the server's own");
  add("allowed-hosts", po::value(&into.allowed_hosts),
      "hosts that requests and pages may name, with commas between them, or *; without it any, but on a loopback "
      "address without keys only that address");
  add("max-connections", with_default(into.max_connections), "at the same time; more are refused with 503");
  add("max-connections-per-address", with_default(into.max_connections_per_address), "of them, from one address");
  add("max-header-bytes", with_default(into.max_header_bytes), "of a request");
  add("max-body-bytes", with_default(into.max_body_bytes), "of a request");
  add("max-pending-body-bytes", with_default(into.max_pending_body_bytes),
      "of all bodies together whose answers have not begun, beyond the first 64 KiB of each; more wait, and are "
      "refused "
      "with 503 after the receive timeout");
  add("max-unread-answer-bytes", with_default(into.max_unread_answer_bytes),
      "of all answers together that clients have not read, beyond the first 64 KiB of each; more are refused with "
      "503");
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

void add_model_options(po::options_description& all, command_line& into) {
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
  add("slot-save-gib", with_default(into.slot_save_gib), "of a key's files there: more are refused");
  add("session-uploads", po::bool_switch(&into.session_uploads),
      "allows PUT /slots/{id}/session without keys, too: what anyone uploads then answers everyone");
  all.add(some);
}

void add_engine_options(po::options_description& all, command_line& into) {
  po::options_description some("Requests and metrics");
  auto add = some.add_options();
  add("queue", with_default(into.queue), "requests that may wait while no slot is free; more are refused with 429");
  add("max-sequences", with_default(into.max_sequences), "sequences that a model holds: running, idle and waiting");
  add("generation-config", with_default(into.generation_config),
      "how requests generate that do not say: auto, as the model's generation_config.json or GGUF file says; none or "
      "vllm, without either; or the path of another such file or folder");
  add("request-defaults", po::value(&into.request_defaults),
      R"(fields for requests that lack them, such as {"temperature": 0.8, "max_tokens": 500})");
  add("drafter", with_default(into.drafter),
      "none, prompt-lookup, suffix-tree, mtp or model: what guesses at the next tokens of requests, which come sooner "
      "then, and are the same");
  add("draft-model", po::value(&into.draft_model), "a smaller model of the same vocabulary, for --drafter model");
  add("max-draft-tokens", with_default(into.max_draft_tokens), "of a request in a step");
  add("scheduling", with_default(into.scheduling),
      "fcfs, priority, fair-share or deadline; with --api-key-file, fair-share unless given");
  add("metrics-names", with_default(into.metrics_names), "cogen, vllm or llamacpp: whose names /metrics has");
  add("trace", po::value(&into.trace),
      "a file for a trace of slots and steps, for ui.perfetto.dev; with several models, each has its name in front of "
      "the file's");
  all.add(some);
}

void add_event_options(po::options_description& all, command_line& into) {
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

po::options_description all_options(command_line& into) {
  po::options_description all(
      "Serves models over HTTP, as OpenAI's API, Anthropic's and llama-server's do.\n\n"
      "cogen-server --model FILE --port N",
      110);
  all.add_options()("help,h", "show this and end")("version", "show the version and end");
  add_model_options(all, into);
  add_server_options(all, into);
  add_engine_options(all, into);
  add_event_options(all, into);
  return all;
}

}  // namespace

std::optional<command_line> read_command_line(int argc, const char* const* argv) try {
  command_line into;
  const auto all = all_options(into);
  po::variables_map values;
  po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), values);
  po::notify(values);
  if (values.contains("help")) {
    std::ostringstream text;
    text << all;
    fmt::print("{}", text.str());
    return std::nullopt;
  }
  if (values.contains("version")) {
    fmt::print("cogen-server {}\n", cogen::version);
    return std::nullopt;
  }
  for (const auto& [name, value] : values)
    if (!value.defaulted()) into.given.insert(name);
  return into;
} catch (const po::error& e) {
  throw std::invalid_argument(e.what());
}

}  // namespace server
