#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace cogen {

/// The request asks for more than its guide does for a text. Says what is exceeded, and by how much.
class guide_limit_exceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by a member of a guide that is called within a step and takes longer than others may wait for it: the step
/// ends without the sequence's token, and the member is called again on another thread, where none wait. The guide has
/// not changed. One that calls another guide lets it pass.
class guide_postponed : public std::exception {
 public:
  const char* what() const noexcept override { return "the guide takes longer than a step may wait"; }
};

/// One sequence's place in a grammar: which tokens may come next. A fork of the sequence takes a clone, a truncation
/// rolls it back. Derive from it to constrain a sequence by rules of your own.
///
/// Called by one thread at a time, not always the same: on a CPU by the threads that sample, for several sequences at
/// once. What a member throws fails the sequence it belongs to, and no other one: guide_limit_exceeded with
/// error::invalid_request and its message, all else but guide_postponed with error::callback_threw.
class guide {
 public:
  virtual ~guide() = default;

  /// Sets bit `id % 64` of word `id / 64` for each token that may come next, and clears all others. Returns false, and
  /// may leave the words as they are, if every token may come.
  virtual bool allow(std::span<std::uint64_t> tokens) = 0;

  /// Continues with a token. Throws std::invalid_argument for one that allow() excludes, and is then unchanged. A token
  /// that ends the generation is allowed where the text is_complete(); nothing is allowed after it.
  virtual void accept(token next) = 0;

  /// Takes back the last `tokens` accepted ones. Throws std::invalid_argument if there are fewer.
  virtual void roll_back(int tokens) = 0;

  /// An independent guide at the same place. Threads may clone a guide at once while it is not changed.
  virtual std::unique_ptr<guide> clone() const = 0;

  /// Whether the text may end here.
  virtual bool is_complete() const = 0;

  /// Tokens that spell what has to come next in any case; often none. A generation runs them in one step, as draft
  /// tokens, each sampled among what allow() leaves: where another spelling of the same text is likelier, that is
  /// generated. They are not accepted yet.
  virtual std::vector<token> forced() { return {}; }
};

}  // namespace cogen
