#pragma once

#include <cogen/fwd.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen {

/// What a request that wants drafts generates from.
struct draft_target {
  std::shared_ptr<const text::tokenizer> tokenizer = {};  ///< the engine's; null: it has none
  int vocabulary = 0;                                     ///< tokens that may be drafted
  std::uint64_t tenant = 0;                               ///< of the request, as is the next one
  std::optional<std::string> cache_salt = {};
};

/// Guesses the next tokens of a request, for speculative decoding (Leviathan et al. 2022, arXiv:2211.17192): the engine
/// runs them in one step and keeps those that it would have generated anyway. Output does not depend on them.
///
///     auto drafter = cogen::prompt_lookup();
///     engine.generate({.prompt = cogen::chat("Fix this code: ..."), .speculative = {.drafter = drafter}})
///
/// Requests and engines may share a drafter. `draft()` and `accept()` are called between steps on the engine's thread,
/// for one request after another, and on several threads at once if several engines share it. They must not block: all
/// requests wait for them. If they throw, the request fails with error::callback_threw; a token outside the vocabulary
/// fails it with error::invalid_request. Other requests go on.
class drafter {
 public:
  virtual ~drafter() = default;

  /// A drafter with state of its own for one request, which is called in place of this one for that request alone, with
  /// a history that only grows. Null, as by default: there is no such state. Called while the request is prepared, on
  /// any thread. Throws std::invalid_argument if it cannot draft for the request, which is then refused with that
  /// message.
  virtual std::shared_ptr<drafter> begin(const draft_target& /*request*/) { return nullptr; }

  /// The tokens that may follow `history`, everything that the request holds, prompt first. At most `most` of them are
  /// used; the first matter most. Empty where nothing is likely.
  virtual std::vector<token> draft(std::span<const token> history, int most) = 0;

  /// The same for drafters that read predictions: `predicted` is what the model's own layer for multi-token prediction
  /// expects after the history: one token, or nothing where it did not run.
  virtual std::vector<token> draft(std::span<const token> history, std::span<const token> /*predicted*/, int most) {
    return draft(history, most);
  }

  /// Whether it drafts with what the model predicts. A request with it fails with error::invalid_request where the
  /// model was loaded without load_options::multi_token_prediction.
  virtual bool reads_predictions() const noexcept { return false; }

  /// A step has generated the last `count` tokens of `history`, whether drafts or not. For drafters that learn.
  virtual void accept(std::span<const token> /*history*/, int /*count*/) {}
};

/// How prompt_lookup() compares.
struct prompt_lookup_options {
  int min_ngram = 2;  ///< tokens at the end of the history that must have occurred before, at least 1
  int max_ngram = 4;  ///< further tokens are not compared, at least min_ngram
};

/// Drafts what followed the last tokens where they occurred before in the same history: the latest of the longest
/// matches (Saxena 2023). For answers that repeat their prompt or themselves: code that is edited, summaries, records.
/// Remembers nothing. Throws std::invalid_argument for options outside their limits.
std::shared_ptr<drafter> prompt_lookup(const prompt_lookup_options& options = {});

/// The memory of a suffix_tree().
struct suffix_tree_options {
  static constexpr std::size_t max_bytes = std::size_t{64} << 30;

  /// What was learned first is forgotten when it is full. At most max_bytes; a few kilobytes are always taken.
  std::size_t bytes = std::size_t{64} << 20;
  int min_match = 3;   ///< tokens that must have come before a draft token as they do now, at least 1
  int max_match = 16;  ///< further tokens are not compared, at least min_match
};

/// Drafts what mostly followed the last tokens in answers to any of the requests that share it, and what
/// prompt_lookup() drafts where that is nothing (suffix decoding: Oliaro et al. 2024, arXiv:2411.04975). For agents and
/// services whose answers resemble earlier ones. Learns all that its requests generate: what one of them was told makes
/// another one faster, so give each tenant its own if that must not be seen. Safe to share between engines. Throws
/// std::invalid_argument for options outside their limits.
std::shared_ptr<drafter> suffix_tree(const suffix_tree_options& options = {});

/// Drafts what a smaller model says, greedily, in an engine of its own with the same vocabulary (Leviathan et al.
/// 2022); other engines refuse it. Each request has a sequence there, which runs ahead of the request by
/// max_draft_tokens at most, in steps of that engine. No request waits for it: what is drafted when a row is planned is
/// run, without what was generated meanwhile; drafts that come too late, or continue other tokens than were generated,
/// are dropped. So it pays where that engine generates several tokens in the time of one step, on a device or cores of
/// its own. Where its sequence fails, the request goes on without drafts. `engine` must outlive the drafter.
std::shared_ptr<drafter> draft_model(engine& engine);

/// Drafts what the model's own layer for multi-token prediction expects (Liu et al., arXiv:2412.19437, section 2.2):
/// one token in a step. For models that have such a layer (DeepSeek-V3 and R1, Kimi K2, GLM-4.5, Qwen 3-Next,
/// Qwen 3.5), loaded with load_options::multi_token_prediction. Remembers nothing.
std::shared_ptr<drafter> mtp();

/// The draft tokens of a request.
struct speculative_options {
  std::shared_ptr<cogen::drafter> drafter = {};  ///< empty: none
  /// Draft tokens in a step at most, at least 1. The engine runs only as many as should be faster, judged by the times
  /// of earlier steps and by how often the request's drafts were right. It runs none with max_buffered_tokens below 2
  /// and where the cache cannot drop tokens (kv.max_rollback_tokens and kv.max_recurrent_drafts of engine_options), and
  /// none in place of tokens that a response format forces.
  int max_draft_tokens = 8;
};

}  // namespace cogen
