#include "simulation/coverage.hpp"

namespace cogen::scheduler::simulate {
namespace {

constexpr const char* state_names[] = {
    "fresh",   "idle", "idle+",      "waiting",   "prefilling", "prefilling+", "decoding",    "decoding+",  "paused",
    "paused+", "late", "idle, goes", "run, goes", "idle, away", "run, away",   "idle, comes", "run, comes", "gone"};
constexpr const char* verb_names[] = {"start", "grant", "abandon", "cancel", "fork", "preempt", "truncate", "copy out"};
constexpr const char* feature_names[] = {"token",
                                         "end token",
                                         "length",
                                         "samples over",
                                         "chunk",
                                         "logits",
                                         "last logits",
                                         "without logits",
                                         "failed prefill",
                                         "failed decode",
                                         "wasted",
                                         "gone in flight",
                                         "no room",
                                         "chained",
                                         "draft accepted",
                                         "draft refused",
                                         "failed after a draft",
                                         "late",
                                         "late after a draft",
                                         "late and failed",
                                         "late and wasted",
                                         "cleared",
                                         "truncated",
                                         "prefix shared",
                                         "copied",
                                         "moved",
                                         "lost its slot",
                                         "base shrunk",
                                         "checkpoint taken",
                                         "checkpoint dropped",
                                         "checkpoint shared",
                                         "checkpoint returned to",
                                         "encoder input read",
                                         "preempted",
                                         "swapped out",
                                         "not swapped out",
                                         "restored",
                                         "inexact",
                                         "lost leaving",
                                         "lost returning",
                                         "dropped",
                                         "reused",
                                         "reused when it came",
                                         "taken over",
                                         "followed",
                                         "displaced",
                                         "made way",
                                         "short of memory",
                                         "branch kept",
                                         "kept",
                                         "given up",
                                         "copied out",
                                         "copy lost",
                                         "prefix copied out",
                                         "prefix restored",
                                         "prefix without room",
                                         "prefix lost",
                                         "copied stored",
                                         "opened",
                                         "opened without room",
                                         "cut when opened",
                                         "refused",
                                         "memory refused",
                                         "empty plan",
                                         "plan without rows",
                                         "overtaken",
                                         "shares divided",
                                         "too late",
                                         "in time"};

}  // namespace

state state_of(phase where, bool in_flight, bool has_tokens) {
  switch (where) {
    case phase::idle:
      return in_flight ? state::idle_in_flight : has_tokens ? state::idle : state::fresh;
    case phase::waiting:
      return state::waiting;
    case phase::prefilling:
      return in_flight ? state::prefilling_in_flight : state::prefilling;
    case phase::decoding:
      return in_flight ? state::decoding_in_flight : state::decoding;
    case phase::paused:
      return in_flight ? state::paused_in_flight : state::paused;
  }
  return state::gone;
}

state state_of_swapped(bool running, int stage) {
  return static_cast<state>(static_cast<int>(state::idle_leaving) + 2 * stage + running);
}

coverage::coverage() : pairs_(state_names, verb_names), features_(feature_names) {}

void coverage::add(const coverage& other) {
  pairs_.add(other.pairs_);
  features_.add(other.features_);
}

bool coverage::report(std::ostream& out) const {
  out << "visits by state (+: a row in flight) and verb:\n";
  const bool pairs = pairs_.report(out);
  const bool features = features_.report(out);
  return simulation::report_all(out, pairs && features);
}

}  // namespace cogen::scheduler::simulate
