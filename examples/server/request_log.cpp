#include "request_log.hpp"

#include "api/json_text.hpp"
#include "api/loosened_keywords.hpp"
#include "api/valid_text.hpp"

#include <boost/json/value.hpp>
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <cstdio>
#include <exception>

namespace server {

request_log::~request_log() try {
  if (!call_.app.settings.log_requests) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun_;
  boost::json::object line{
      {"time", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
      {"id", call_.id},
      {"tenant", call_.tenant},
      {"method", call_.request().method},
      {"path", api::valid_text(call_.request().path)},
      {"status", call_.client.status() == 0 ? 499 : call_.client.status()},  // 499: the client went away
      {"ms", took.count()},
      {"model", call_.model ? call_.model->name : std::string()},
      {"prompt_tokens", call_.usage.prompt_tokens()},
      {"cached_tokens", call_.usage.cached_tokens()},
      {"generated_tokens", call_.usage.generated_tokens()}};
  if (!call_.loosened.empty()) line["loosened_keywords"] = api::texts_of(call_.loosened);
  fmt::print(stderr, "{}\n", api::json_text(line));
} catch (const std::exception&) {
  // There is nowhere to say that a line cannot be written.
}

}  // namespace server
