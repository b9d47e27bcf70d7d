#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace server {

/// The values of the command line as they are written, with the defaults of `options`.
struct command_line {
  std::vector<std::string> models;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string api_key_file, operator_key_file, tls_certificate, tls_key, cors, allowed_hosts;
  int max_connections = 4096, max_connections_per_address = 1024;
  std::int64_t max_header_bytes = 16 << 10, max_body_bytes = 16 << 20, max_pending_body_bytes = 128 << 20,
               max_unread_answer_bytes = 256 << 20;
  double idle_timeout = 75, receive_timeout = 30, send_timeout = 600, ping_interval = 15, drain_timeout = 0;
  std::string device = "cpu", device_weights = "whole", compute_type, kv_dtype, kv_quantization;
  int tensor = 1, pipeline = 1, slots = 16, max_length = 0, threads = 0, queue = 1024, max_sequences = 4096,
      max_batched_tokens = 0;
  double target_step_ms = 0, kv_gib = 0, swap_gib = -1, slot_save_gib = 64;
  std::string chat_template_file;
  std::string generation_config = "auto", drafter = "none", draft_model;
  int max_draft_tokens = 8;
  std::string scheduling = "fcfs", metrics_names = "cogen", prefix_cache, swap_directory, slot_save_path, trace;
  std::string kv_events_endpoint, kv_events_replay_endpoint, kv_events_topic, kv_events_encoding = "map";
  int kv_events_block_size = 16;
  bool no_prefix_caching = false, log_requests = false, no_page = false, no_slots = false, no_metrics = false,
       session_uploads = false;
  std::string request_defaults = "{}";
  std::set<std::string> given;  ///< names of the options that are not left to their defaults

  bool has(const std::string& name) const { return given.contains(name); }
};

/// Reads the command line; nothing if it asks for help or the version, which is then printed. Throws
/// std::invalid_argument with a message for what is wrong.
std::optional<command_line> read_command_line(int argc, const char* const* argv);

}  // namespace server
