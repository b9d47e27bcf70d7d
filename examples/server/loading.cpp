#include "loading.hpp"

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include <utility>

namespace server {
namespace {

std::shared_ptr<served_model> load(const model_option& wanted, cogen::load_options loading,
                                   cogen::engine_options engine, const std::atomic<bool>& stopped) {
  loading.progress = [&stopped](const cogen::load_progress&) { return !stopped; };
  auto one = std::make_shared<served_model>();
  one->name = wanted.name;
  one->path = wanted.path.string();
  one->created = api::unix_time();
  one->slots = engine.batching.slots;
  one->model = cogen::load_model(wanted.path, loading);
  engine.log = [name = wanted.name](std::string_view line) { fmt::print(stderr, "{}: {}\n", name, line); };
  one->engine = std::make_unique<cogen::engine>(one->model, std::move(engine));
  return one;
}

}  // namespace

loading::loading(application& app, std::function<void(std::exception_ptr)> done)
    : app_(app), done_(std::move(done)), thread_([this] { run(); }) {}

loading::~loading() {
  stopped_ = true;
  thread_.join();
}

void loading::run() {
  try {
    for (const auto& wanted : app_.settings.models) {
      auto engine = app_.settings.engine;
      auto one = load(wanted, app_.settings.loading, std::move(engine), stopped_);
      net::post(app_.context, [this, one] { app_.models.add(one); });
    }
    net::post(app_.context, [this] {
      app_.models.set_ready();
      done_(nullptr);
    });
  } catch (...) {
    net::post(app_.context, [this, why = std::current_exception()] { done_(why); });
  }
}

}  // namespace server
