#include <cogen/token_stream.hpp>

#include <iterator>
#include <utility>

namespace cogen {

void append(completion& whole, piece next) {
  whole.text += next.text;
  whole.reasoning += next.reasoning;
  whole.tokens.insert(whole.tokens.end(), std::make_move_iterator(next.tokens.begin()),
                      std::make_move_iterator(next.tokens.end()));
  append(whole.tool_calls, std::move(next.tool_calls));
}

}  // namespace cogen
