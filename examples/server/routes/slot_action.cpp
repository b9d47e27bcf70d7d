// The state of a prompt in a file, as llama-server keeps it (POST /slots/{id}?action=save, restore or erase), and as a
// body (GET and PUT /slots/{id}/session).
#include "api/field_reader.hpp"
#include "api/json_text.hpp"
#include "api_keys.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <cogen/load/sha256.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

namespace server {
namespace {

namespace json = boost::json;

constexpr std::uint64_t max_saved_files = 256;  // of a key

json::object fields_of(const std::string& body) { return body.empty() ? json::object() : api::parse_body(body); }

int slot_id(const call& client) {
  const auto& text = client.matched.front().second;
  int id = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || id < 0)
    throw api::invalid("id", fmt::format("the slot is \"{}\"; it must be a number", text.substr(0, 60)));
  return id;
}

/// Where the files of the client's key are: where there are keys, in a folder whose name does not tell the key.
std::filesystem::path folder_of(const call& client) {
  const auto& directory = client.app.settings.slot_save_path;
  const auto& keys = client.app.settings.api_keys;
  if (directory.empty())
    throw api::error(501, "not_supported_error", "the server was started without --slot-save-path");
  if (keys.empty()) return directory;
  const auto digest = cogen::load::sha256("cogen slot files of " + key_of(client.tenant, keys));
  return directory / cogen::load::hexadecimal(digest);
}

/// The file of a name, which may not leave the folder.
std::filesystem::path file_of(const call& client, const api::field_reader& body) {
  const auto folder = folder_of(client);
  const auto name = body.required_text("filename");
  const bool plain = !name.empty() && name.size() <= 200 && name.front() != '.' && http::is_header_text(name) &&
                     name.find('/') == std::string::npos && name.find('\\') == std::string::npos;
  if (!plain) body.refuse("filename", "a name without slashes that does not begin with a dot");
  return folder / name;
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

/// Throws api::error if the client's key has no such slot.
cogen::token_ids tokens_of(const call& client, served_model& model, int id) {
  if (auto tokens = model.kept_slots.find(client.tenant, id)) return *std::move(tokens);
  throw api::error(404, "not_found_error",
                   fmt::format("the slot is {}; it must be the id_slot of an earlier request", id), "id");
}

/// The tokens of the slot's last answer in a sequence, in which most of them are cached.
net::awaitable<cogen::sequence> sequence_of(const call& client, served_model& model, int id) {
  auto tokens = tokens_of(client, model, id);
  auto sequence = model.engine->open(options_of(client));
  static_cast<void>(co_await sequence.async_forward(std::move(tokens)));
  co_return sequence;
}

/// Brings an opened sequence back into a slot. When it ends, its slot stays as a cached prefix. Returns its length.
net::awaitable<std::size_t> bring_back(const call& client, served_model& model, int id, cogen::sequence& sequence) {
  auto tokens = sequence.tokens();
  static_cast<void>(co_await sequence.async_forward({}));
  const auto count = tokens.size();
  model.kept_slots.keep(client.tenant, id, std::move(tokens));
  co_return count;
}

/// Makes the folder of a key. Throws api::error if the files in it, besides this one, are as many or as large as they
/// may be.
void make_room_for(const std::filesystem::path& file, std::uint64_t max_bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::uint64_t count = 0, bytes = 0;
  for (const auto& each : std::filesystem::directory_iterator(file.parent_path()))
    if (each.is_regular_file() && each.path() != file) ++count, bytes += each.file_size();
  if (count >= max_saved_files)
    throw api::invalid("filename", fmt::format("filename is \"{}\", and {} other files are saved, which is the limit",
                                               file.filename().string(), count));
  if (bytes >= max_bytes)
    throw api::invalid("filename", fmt::format("filename is \"{}\", and the {} other files that are saved have {} "
                                               "bytes; they may have {}",
                                               file.filename().string(), count, bytes, max_bytes));
}

net::awaitable<json::object> save(call& client, served_model& model, int id, std::filesystem::path file) {
  const auto begun = std::chrono::steady_clock::now();
  static_cast<void>(tokens_of(client, model, id));
  const auto own_save = co_await client.app.saves.async_begin(client.tenant);
  make_room_for(file, client.app.settings.max_saved_bytes);
  const auto place = co_await client.app.transfers.async_begin(client.tenant);
  auto sequence = co_await sequence_of(client, model, id);
  co_await sequence.async_save(file);
  co_return json::object{{"id_slot", id},
                         {"filename", file.filename().string()},
                         {"n_saved", sequence.tokens().size()},
                         {"n_written", std::filesystem::file_size(file)},
                         {"timings", timed("save_ms", begun)}};
}

net::awaitable<json::object> restore(call& client, served_model& model, int id, std::filesystem::path file) {
  const auto begun = std::chrono::steady_clock::now();
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file, missing);
  if (missing)
    throw api::invalid("filename", fmt::format("filename is \"{}\", which was not saved", file.filename().string()));
  const auto place = co_await client.app.transfers.async_begin(client.tenant);
  auto sequence = co_await model.engine->async_load_session(file, options_of(client));
  const auto count = co_await bring_back(client, model, id, sequence);
  co_return json::object{{"id_slot", id},
                         {"filename", file.filename().string()},
                         {"n_restored", count},
                         {"n_read", bytes},
                         {"timings", timed("restore_ms", begun)}};
}

json::object erase(const call& client, served_model& model, int id) {
  const auto count = tokens_of(client, model, id).size();
  model.kept_slots.erase(client.tenant, id);
  return {{"id_slot", id}, {"n_erased", count}};
}

/// An answer whose body is a session. It begins with the session's first bytes: until then it may be an error.
class session_body final : public cogen::byte_sink {
 public:
  explicit session_body(call& client) : client_(client) {}
  net::any_io_executor get_executor() override { return client_.app.context.get_executor(); }
  net::awaitable<void> write(std::span<const std::byte> bytes) override {
    if (client_.client.status() == 0) co_await client_.client.begin({.type = "application/octet-stream"});
    co_await client_.client.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

 private:
  call& client_;
};

/// The body of a request, which may be as large as the cache of the longest sequence, and `--max-body-bytes` more.
class uploaded_body final : public cogen::byte_source {
 public:
  uploaded_body(call& client, const served_model& model)
      : client_(client),
        limit_(client.app.settings.connections.body + static_cast<std::uint64_t>(model.sequence_bytes)) {}
  net::any_io_executor get_executor() override { return client_.app.context.get_executor(); }
  net::awaitable<std::size_t> read_some(std::span<std::byte> buffer) override {
    const auto count = co_await client_.client.read_body(net::buffer(buffer.data(), buffer.size()));
    read_ += count;
    if (read_ > limit_) throw std::length_error("the session is too long");
    co_return count;
  }

  /// Throws api::error if it was too long.
  void check() const {
    if (read_ > limit_)
      throw api::error(413, "invalid_request_error", fmt::format("the session is longer than {} bytes", limit_));
  }
  std::uint64_t read() const noexcept { return read_; }

 private:
  call& client_;
  const std::uint64_t limit_;
  std::uint64_t read_ = 0;
};

net::awaitable<cogen::sequence> open(const call& client, served_model& model, uploaded_body& body) try {
  auto sequence = co_await model.engine->async_load_session(body, options_of(client));
  std::byte more{};
  if (co_await body.read_some({&more, 1}) > 0)
    throw api::error(400, "invalid_request_error", "the body goes on after the session");
  co_return sequence;
} catch (const cogen::generation_error&) {
  body.check();
  throw;
}

}  // namespace

net::awaitable<void> download_session(call& client) {
  const auto model = client.queried_model();
  const auto id = slot_id(client);
  static_cast<void>(tokens_of(client, *model, id));
  const auto place = co_await client.app.transfers.async_begin(client.tenant);
  auto sequence = co_await sequence_of(client, *model, id);
  session_body body(client);
  co_await sequence.async_save(body);
  co_await client.client.end();
}

net::awaitable<void> upload_session(call& client) {
  const auto& settings = client.app.settings;
  if (settings.api_keys.empty() && !settings.session_uploads)
    throw api::error(501, "not_supported_error", "the server has no keys and was started without --session-uploads");
  const auto begun = std::chrono::steady_clock::now();
  const auto id = slot_id(client);
  const auto model = client.queried_model();
  const auto place = co_await client.app.transfers.async_begin(client.tenant);
  uploaded_body body(client, *model);
  auto sequence = co_await open(client, *model, body);
  const auto count = co_await bring_back(client, *model, id, sequence);
  const json::object answer{
      {"id_slot", id}, {"n_restored", count}, {"n_read", body.read()}, {"timings", timed("restore_ms", begun)}};
  co_await client.client.respond({.body = api::json_text(answer)});
}

net::awaitable<void> slot_action(call& client) {
  const auto id = slot_id(client);
  const auto model = client.queried_model();
  const auto& query = client.request().query;
  const auto action = query.find("action") == query.end() ? std::string() : query.find("action")->second;
  const auto source = co_await off_loop(client, client.body.size(), [&client] { return fields_of(client.body); });
  const api::field_reader body(source);
  json::object answer;
  if (action == "save")
    answer = co_await save(client, *model, id, file_of(client, body));
  else if (action == "restore")
    answer = co_await restore(client, *model, id, file_of(client, body));
  else if (action == "erase")
    answer = erase(client, *model, id);
  else
    throw api::invalid("action",
                       fmt::format("action is \"{}\"; it must be save, restore or erase", action.substr(0, 60)));
  co_await client.client.respond({.body = api::json_text(answer)});
}

}  // namespace server
