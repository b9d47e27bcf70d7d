#pragma once

#include <cogen/token.hpp>

#include <span>
#include <vector>

namespace cogen::text {

/// Lengths, ascending, from which other prompts are likely to continue in another way: after the first message, which
/// often is a system prompt, and after the last two, from where a conversation goes on. Messages end with one of
/// `ends`. If none does, all but the last token: the prompt may come again. With `previous`, the prompt continues so
/// many tokens, which count, and is not expected to come again.
std::vector<int> prompt_checkpoints(std::span<const token> prompt, std::span<const token> ends, int previous = 0);

}  // namespace cogen::text
