#include "state_layer.hpp"

#include <stdexcept>

namespace cogen::cache {
namespace {

constexpr const char* no_tokens = "cache: a recurrent layer has a state, no keys and values";

}  // namespace

void state_layer::append(const step&, const head_rows&, const head_rows&) { throw std::logic_error(no_tokens); }

keys_values state_layer::to_dense(int, int) const { throw std::logic_error(no_tokens); }

}  // namespace cogen::cache
