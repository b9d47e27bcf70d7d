// llama-server's way to keep the state of a prompt in a file: POST /slots/{id}?action=save, restore or erase.
#include "api/field_reader.hpp"
#include "routes/routes.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <utility>

namespace server {
namespace {

namespace json = boost::json;

int slot_id(const call& client) {
  const auto& text = client.matched.front().second;
  int id = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || id < 0)
    throw api::invalid("id", fmt::format("the slot is \"{}\"; it must be a number", text.substr(0, 60)));
  return id;
}

/// The file of a name, which may not leave the directory.
std::filesystem::path file_of(const call& client, const api::field_reader& body) {
  const auto& directory = client.app.settings.slot_save_path;
  if (directory.empty())
    throw api::error(501, "not_supported_error", "the server was started without --slot-save-path");
  const auto name = body.required_text("filename");
  const bool plain = !name.empty() && name.size() <= 200 && name.front() != '.' && http::is_header_text(name) &&
                     name.find('/') == std::string::npos && name.find('\\') == std::string::npos;
  if (!plain) body.refuse("filename", "a name without slashes that does not begin with a dot");
  return directory / name;
}

cogen::open_options options_of(const call& client) {
  cogen::open_options options;
  options.tenant = client.tenant;
  return options;
}

json::object timed(std::string_view name, std::chrono::steady_clock::time_point begun) {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  return {{name, took.count()}};
}

/// Runs the tokens of the slot's last answer in a sequence, most of which are cached, and saves that.
net::awaitable<json::object> save(const call& client, served_model& model, int id, std::filesystem::path file) {
  const auto begun = std::chrono::steady_clock::now();
  const auto found = model.slot_tokens.find(id);
  if (found == model.slot_tokens.end())
    throw api::invalid("id", fmt::format("the slot is {}; it must be the id_slot of an earlier request", id));
  auto tokens = found->second;
  const auto count = tokens.size();
  auto sequence = model.engine->open(options_of(client));
  static_cast<void>(co_await sequence.async_forward(std::move(tokens)));
  co_await sequence.async_save(file);
  co_return json::object{{"id_slot", id},
                         {"filename", file.filename().string()},
                         {"n_saved", count},
                         {"n_written", std::filesystem::file_size(file)},
                         {"timings", timed("save_ms", begun)}};
}

/// Brings a saved sequence back into a slot. When it ends, its slot stays as a cached prefix.
net::awaitable<json::object> restore(const call& client, served_model& model, int id, std::filesystem::path file) {
  const auto begun = std::chrono::steady_clock::now();
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file, missing);
  if (missing)
    throw api::invalid("filename", fmt::format("filename is \"{}\", which was not saved", file.filename().string()));
  auto sequence = co_await model.engine->async_open(file, options_of(client));
  auto tokens = sequence.tokens();
  static_cast<void>(co_await sequence.async_forward({}));
  const auto count = tokens.size();
  model.slot_tokens[id] = std::move(tokens);
  co_return json::object{{"id_slot", id},
                         {"filename", file.filename().string()},
                         {"n_restored", count},
                         {"n_read", bytes},
                         {"timings", timed("restore_ms", begun)}};
}

json::object erase(served_model& model, int id) {
  const auto found = model.slot_tokens.find(id);
  const auto count = found == model.slot_tokens.end() ? 0 : found->second.size();
  model.slot_tokens.erase(id);
  return {{"id_slot", id}, {"n_erased", count}};
}

}  // namespace

net::awaitable<void> slot_action(call& client) {
  const auto id = slot_id(client);
  const auto model = client.queried_model();
  const auto& query = client.request().query;
  const auto action = query.find("action") == query.end() ? std::string() : query.find("action")->second;
  const auto source = client.request().body.empty() ? json::object() : api::parse_body(client.request().body);
  const api::field_reader body(source);
  json::object answer;
  if (action == "save")
    answer = co_await save(client, *model, id, file_of(client, body));
  else if (action == "restore")
    answer = co_await restore(client, *model, id, file_of(client, body));
  else if (action == "erase")
    answer = erase(*model, id);
  else
    throw api::invalid("action",
                       fmt::format("action is \"{}\"; it must be save, restore or erase", action.substr(0, 60)));
  co_await client.client.respond({.body = json::serialize(answer)});
}

}  // namespace server
