#include "api/json_text.hpp"
#include "page.hpp"
#include "routes/routes.hpp"

#include <cogen/model.hpp>
#include <cogen/version.hpp>

#include <boost/json/value.hpp>

namespace server {
namespace {

namespace json = boost::json;

json::object model_object(const served_model& model) {
  const auto& config = model.model->config();
  return {{"id", model.name},
          {"aliases", json::array(model.aliases.begin(), model.aliases.end())},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "cogen"},
          {"root", model.path},
          {"parent", nullptr},
          {"max_model_len", model.max_length},
          {"meta",
           {{"n_vocab", config.vocabulary},
            {"n_ctx_train", config.max_positions},
            {"n_embd", config.hidden},
            {"size", model.model->weight_bytes()}}}};
}

}  // namespace

http::response health(call& client) {
  if (client.app.draining) throw api::draining();
  if (!client.app.models.ready()) throw api::error(503, "unavailable_error", "Loading model", "", "loading");
  for (const auto& model : client.app.models.entries())
    if (const auto why = model->engine->error())
      throw api::error(503, "unavailable_error", model->name + ": " + why.message(), "", "engine_failed");
  return {.body = R"({"status":"ok"})"};
}

http::response list_models(call& client) {
  client.app.models.require_ready();
  json::array objects;
  for (const auto& model : client.app.models.entries()) objects.push_back(model_object(*model));
  return {.body = api::json_text(json::value{{"object", "list"}, {"data", objects}})};
}

http::response one_model(call& client) {
  client.app.models.require_ready();
  const auto& id = client.matched.front().second;
  for (const auto& model : client.app.models.entries())
    if (model->is_called(id)) return {.body = api::json_text(model_object(*model))};
  throw api::error(404, "not_found_error", "the model \"" + id.substr(0, 100) + "\" does not exist", "model",
                   "model_not_found");
}

http::response chat_page(call& client) {
  if (!client.app.settings.page) throw api::error(404, "not_found_error", "the server runs with --no-page");
  return {.type = "text/html; charset=utf-8",
          .body = std::string(page()),
          .headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", "frame-ancestors 'none'"},
                      {"X-Frame-Options", "DENY"}}};
}

http::response version(call&) { return {.body = api::json_text(json::value{{"version", cogen::version}})}; }

}  // namespace server
