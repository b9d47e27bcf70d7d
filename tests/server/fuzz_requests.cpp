// HTTP from bytes, in two parts, and each reader of JSON on the body: only api::error may come out.
#include "api/chat_fields.hpp"
#include "api/completion_fields.hpp"
#include "api/error.hpp"
#include "api/message_fields.hpp"
#include "api/response_fields.hpp"
#include "api/sampling_fields.hpp"
#include "http/request_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

namespace api = server::api;

template <class Read>
void attempt(std::string_view body, Read read) {
  try {
    const auto object = api::parse_body(body);
    api::generation wanted;
    read(api::field_reader(object), wanted);
  } catch (const api::error&) {
    // A client's mistake.
  }
}

void read_json(std::string_view body) {
  attempt(body, [](const auto& fields, auto& wanted) { api::read_generation(fields, {}, {}, nullptr, wanted); });
  attempt(body, [](const auto& fields, auto& wanted) { api::read_chat(fields, wanted); });
  attempt(body, [](const auto& fields, auto& wanted) { api::read_completion(fields, wanted); });
  attempt(body, [](const auto& fields, auto&) { api::read_response_request(fields, {}, {}, nullptr); });
  attempt(body, [](const auto& fields, auto&) { api::read_message_request(fields, {}, {}, nullptr, true); });
  attempt(body, [](const auto& fields, auto&) { api::read_prompts(fields, "prompt"); });
}

void read_http(std::string_view bytes, std::size_t cut) {
  server::http::request_parser parser(4096);
  std::string received(bytes.substr(0, cut));
  received.erase(0, parser.put(received));
  if (parser.error()) return;
  received += bytes.substr(cut);
  parser.put(received);
  if (!parser.error() && parser.is_done()) read_json(parser.take_body());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_json(bytes);
  if (size > 0) read_http(bytes.substr(1), data[0] % size);
  return 0;
}
