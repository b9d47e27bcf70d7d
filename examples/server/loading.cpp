#include "loading.hpp"

#include <cogen/model.hpp>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace server {
namespace {

/// What `--generation-config` names.
cogen::load::generation_defaults generation_of(const model_option& model, const std::string& config) {
  if (config == "none" || config == "vllm") return {};
  return cogen::load::read_generation_defaults(config == "auto" ? model.path : std::filesystem::path(config));
}

void add_drafts(const options& settings, cogen::load_options loading, const cogen::engine_options& engine,
                served_model& served) {
  loading.multi_token_prediction = false;
  loading.parallel = {};
  if (settings.speculation.kind != drafter_kind::none && served.model->generates())
    served.drafts = std::make_unique<draft_source>(settings.speculation, loading, engine, *served.engine);
}

/// The longest request that fits: where memory for caches is short, it is shorter than the model's longest.
cogen::request_estimate longest_request(const cogen::engine& running) {
  const auto estimate = [&](std::optional<int> tokens) {
    return running.estimate({.prompt = cogen::token_ids{0}, .max_tokens = tokens});
  };
  auto longest = estimate(std::nullopt);
  if (longest.fits()) return longest;
  int fits = 1, exceeds = 2;
  for (; estimate(exceeds).fits(); exceeds *= 2) fits = exceeds;
  while (exceeds - fits > 1) {
    const int middle = fits + (exceeds - fits) / 2;
    (estimate(middle).fits() ? fits : exceeds) = middle;
  }
  return estimate(fits);
}

std::shared_ptr<served_model> load(const model_option& wanted, const options& settings, cogen::engine_options engine,
                                   const std::shared_ptr<cogen::event_sink>& trace, const std::atomic<bool>& stopped) {
  auto loading = settings.loading;
  loading.progress = [&stopped](const cogen::load_progress&) { return !stopped; };
  auto served = std::make_shared<served_model>();
  served->name = wanted.name;
  served->aliases = wanted.aliases;
  served->path = wanted.path.string();
  served->created = api::unix_time();
  served->slots = engine.batching.slots;
  served->generation = generation_of(wanted, settings.generation_config);
  served->model = cogen::load_model(wanted.path, loading);
  if (served->model->scores_pairs()) served->shown_scores = cogen::load::read_score_activation(wanted.path);
  engine.log = [name = wanted.name](std::string_view line) { fmt::print(stderr, "{}: {}\n", name, line); };
  served->meter = std::make_shared<metrics::meter>(served->slots, trace);
  engine.events = served->meter;
  const auto limit = engine.kv.bytes;
  served->engine = std::make_unique<cogen::engine>(served->model, engine);
  add_drafts(settings, loading, engine, *served);
  const auto whole = longest_request(*served->engine);
  served->max_length = whole.max_length;
  served->sequence_bytes = whole.cache_bytes;
  served->cache_capacity = whole.cache_bytes * served->slots;
  if (limit) served->cache_capacity = std::min(served->cache_capacity, *limit);
  return served;
}

/// The trace of a model, whose name is in front of the file's if there are several models.
std::shared_ptr<cogen::event_sink> trace_of(const model_option& model, const options& settings) {
  if (settings.trace.empty()) return nullptr;
  auto file = settings.trace;
  if (settings.models.size() > 1) file.replace_filename(model.name + "-" + file.filename().string());
  return std::make_shared<cogen::chrome_trace>(file);
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
      engine.kv.events = app_.kv_events;
      auto model = load(wanted, app_.settings, std::move(engine), trace_of(wanted, app_.settings), stopped_);
      net::post(app_.context, [this, model] { app_.models.add(model); });
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
