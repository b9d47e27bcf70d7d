#pragma once

#include "http/request.hpp"

#include <cogen/request.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace server::api {

/// What a stream's events tell besides what is generated.
struct event_extras {
  bool usage = false;          ///< a last event with what it took
  bool usage_in_each = false;  ///< besides, what it took so far in each event
  bool timings = false;        ///< speeds in each event
  bool progress = false;       ///< events while the prompt is read, with how much of it was
};

/// What a client asks to be generated.
struct generation {
  cogen::request request;
  int n = 1;                                 ///< answers
  bool stream = false;                       ///< as events, while it is generated
  std::optional<int> max_draft_tokens = {};  ///< where the model has drafts; empty: as the server is set up
  event_extras extras = {};
};

/// What a request has besides its body.
struct sender {
  std::uint64_t tenant = 0;
  int priority = 0;
  std::optional<cogen::clock::duration> start_within = {};
  std::optional<cogen::clock::duration> finish_within = {};
};

/// Reads the headers `x-priority`, `x-start-within-ms` and `x-finish-within-ms`. Throws api::error.
sender sender_of(const http::request& request, std::uint64_t tenant);

}  // namespace server::api
