#pragma once

#include "http/listener.hpp"
#include "kv_events/publisher.hpp"

#include <cogen/engine_options.hpp>
#include <cogen/load_model.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace server {

/// Whose names the metrics have.
enum class metrics_names : std::uint8_t { cogen, vllm, llamacpp };

/// What guesses at the next tokens of requests; see cogen/drafter.hpp.
enum class drafter_kind : std::uint8_t { none, prompt_lookup, suffix_tree, mtp, model };

/// How requests speculate.
struct speculation_options {
  drafter_kind kind = drafter_kind::none;
  std::filesystem::path model = {};  ///< that drafts, if it is one
  int max_draft_tokens = 8;          ///< of a request in a step
};

/// A model to serve.
struct model_option {
  std::string name;
  std::vector<std::string> aliases;  ///< other names that requests may use
  std::filesystem::path path;
};

/// What the command line says.
struct options {
  std::vector<model_option> models;
  std::string host = "127.0.0.1";
  unsigned short port = 8080;
  std::vector<std::string> api_keys;       ///< empty: anyone may ask
  std::vector<std::string> operator_keys;  ///< of those, who may read what is of all
  std::filesystem::path tls_certificate, tls_key;
  std::string cors;                        ///< the origin that pages may come from, or "*"; empty: none
  std::vector<std::string> allowed_hosts;  ///< that requests and pages may name; empty: see request_origin.hpp
  http::listener_limits listener = {};
  http::connection_limits connections = {};
  std::uint64_t max_pending_body_bytes = 128 << 20;   ///< of all bodies together whose answers have not begun
  std::uint64_t max_unread_answer_bytes = 256 << 20;  ///< of all answers together that clients have not read
  std::chrono::milliseconds ping{15'000};             ///< between two signs of life in a stream
  std::chrono::seconds drain{0};                      ///< how long draining may take; 0: as long as it takes
  cogen::load_options loading = {};
  cogen::engine_options engine = {};
  speculation_options speculation = {};
  std::string generation_config = "auto";  ///< or none, vllm, or a path
  kv_events::publisher_options kv_events = {};
  server::metrics_names names = metrics_names::cogen;
  std::filesystem::path slot_save_path;  ///< where states of prompts are saved; empty: nowhere
  std::uint64_t max_saved_bytes = 0;     ///< of a key's files there, and one file more
  bool session_uploads = false;          ///< also without keys: PUT /slots/{id}/session
  std::filesystem::path trace;           ///< a file for each model, see `--help`; empty: none
  bool log_requests = false;
  boost::json::object defaults;                    ///< fields of requests that lack them
  bool page = true, slots = true, metrics = true;  ///< whether the routes of these names answer
};

/// Reads the command line; nothing if it asks for help, which is then printed. Throws std::invalid_argument with a
/// message for what is wrong.
std::optional<options> read_options(int argc, const char* const* argv);

}  // namespace server
