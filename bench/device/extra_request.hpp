#pragma once

#include <cogen/engine.hpp>

#include <boost/asio/awaitable.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace cogen::bench {

/// What --beside can name: tokens alone, to compare with, or what a step returns or reads for a request besides.
inline constexpr std::array<std::string_view, 6> extra_kinds{"tokens", "logprobs", "prompt-logprobs",
                                                             "mask",   "logits",   "processor"};

/// One more request of that kind, over and over while there are `streams`. Its prompts and answers are `length` tokens
/// together.
boost::asio::awaitable<void> run_extra(engine& running, std::string_view kind, int length, std::int64_t vocabulary,
                                       const int& streams);

}  // namespace cogen::bench
