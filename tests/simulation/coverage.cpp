#include "simulation/coverage.hpp"

#include <iomanip>

namespace cogen::scheduler::simulate {
namespace {

constexpr const char* state_names[] = {"fresh",       "idle",      "idle+",      "waiting",   "prefilling",
                                       "prefilling+", "decoding",  "decoding+",  "paused",    "paused+",
                                       "idle, goes",  "run, goes", "idle, away", "run, away", "idle, comes",
                                       "run, comes",  "gone"};
constexpr const char* verb_names[] = {"start", "grant", "abandon", "cancel", "fork", "park", "truncate"};
constexpr const char* feature_names[] = {"token",
                                         "end token",
                                         "length",
                                         "samples over",
                                         "chunk",
                                         "logits",
                                         "last logits",
                                         "failed prefill",
                                         "failed decode",
                                         "wasted",
                                         "gone in flight",
                                         "no room",
                                         "chained",
                                         "cleared",
                                         "truncated",
                                         "adopted",
                                         "copied",
                                         "moved",
                                         "lost its slot",
                                         "base shrunk",
                                         "source read",
                                         "parked",
                                         "spilled",
                                         "not spilled",
                                         "restored",
                                         "lost leaving",
                                         "lost returning",
                                         "dropped",
                                         "refused",
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

state state_of_spilled(bool running, int stage) {
  return static_cast<state>(static_cast<int>(state::idle_leaving) + 2 * stage + running);
}

const char* name(state of) { return state_names[static_cast<int>(of)]; }
const char* name(verb of) { return verb_names[static_cast<int>(of)]; }
const char* name(feature of) { return feature_names[static_cast<int>(of)]; }

void coverage::add(const coverage& other) {
  for (std::size_t s = 0; s < pairs_.size(); ++s)
    for (std::size_t v = 0; v < pairs_[s].size(); ++v) pairs_[s][v] += other.pairs_[s][v];
  for (std::size_t f = 0; f < features_.size(); ++f) features_[f] += other.features_[f];
}

bool coverage::report(std::ostream& out) const {
  bool all = true;
  out << "visits by state (+: a row in flight) and verb:\n" << std::setw(12) << "";
  for (const auto* each : verb_names) out << std::setw(11) << each;
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    out << '\n' << std::left << std::setw(12) << state_names[s] << std::right;
    for (const auto visits : pairs_[s]) {
      out << std::setw(11) << visits;
      all &= visits > 0;
    }
  }
  out << "\nwhat else happened:\n";
  for (std::size_t f = 0; f < features_.size(); ++f) {
    out << "  " << feature_names[f] << ' ' << features_[f] << (f % 6 == 5 || f + 1 == features_.size() ? "\n" : ",");
    all &= features_[f] > 0;
  }
  out << (all ? "\nevery pair and feature was visited\n" : "\nUNVISITED: see the zeros above\n");
  return all;
}

}  // namespace cogen::scheduler::simulate
