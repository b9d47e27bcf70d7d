#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/error.hpp>
#include <cogen/net.hpp>

#include <boost/asio/async_result.hpp>

#include <type_traits>
#include <utility>

namespace cogen {

/// What redirect_diagnostics() makes of a completion token.
template <class Token>
class redirect_diagnostics_t {
 public:
  /// See redirect_diagnostics().
  redirect_diagnostics_t(Token token, diagnostics& why) : token_(std::move(token)), why_(&why) {}

  Token& token() noexcept { return token_; }              ///< the token that gets the results
  const Token& token() const noexcept { return token_; }  ///< the same
  diagnostics& why() const noexcept { return *why_; }     ///< where the diagnostics go

 private:
  Token token_;
  diagnostics* why_;
};

/// Adapts a completion token as net::redirect_error does, but for the sentence, too: `why` is set before the handler
/// runs, and the results alone go to `token`. It must live until then. To be the outermost of several adapters. With an
/// operation of another library, `why` has the message of its code.
///
///     cogen::diagnostics why;
///     const auto vectors = co_await engine.async_embed(texts, cogen::redirect_diagnostics(asio::use_awaitable, why));
template <class Token>
redirect_diagnostics_t<std::decay_t<Token>> redirect_diagnostics(Token&& token, diagnostics& why) {
  return {std::forward<Token>(token), why};
}

/// @cond
namespace async {

/// The form of handlers for void(Results...).
struct redirected {
  template <class Handler, class... Results>
  void operator()(Handler&& handler, const diagnostics& why, Results&&... results) const {
    *target = why;
    std::forward<Handler>(handler)(std::forward<Results>(results)...);
  }

  diagnostics* target = nullptr;
};

}  // namespace async
/// @endcond

}  // namespace cogen

/// @cond
template <class Token, class... Results>
class boost::asio::async_result<cogen::redirect_diagnostics_t<Token>, void(cogen::error_code, Results...)> {
  template <class Initiation>
  using adapted = cogen::async::adapted_initiation<std::decay_t<Initiation>, cogen::async::redirected>;

 public:
  template <class Initiation, class Redirecting, class... Args>
  static auto initiate(Initiation&& initiation, Redirecting&& token, Args&&... args)
      -> decltype(async_initiate<Token, void(Results...)>(std::declval<adapted<Initiation>>(), token.token(),
                                                          std::forward<Args>(args)...)) {
    return async_initiate<Token, void(Results...)>(
        adapted<Initiation>(std::forward<Initiation>(initiation), cogen::async::redirected{&token.why()}),
        token.token(), std::forward<Args>(args)...);
  }
};
/// @endcond
