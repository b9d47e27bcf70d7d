// A sequence of each kind grows through the lengths; the bytes it takes are read at each.
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"

namespace curves {

void memory(const cogen::model& model, const settings& given) {
  const auto ids = tokens_of(model, given.text, static_cast<std::size_t>(given.lengths.back()));
  for (const auto& growing : readers_of(model, given.kinds, {given.lengths.back(), given.chunk}, given.threads)) {
    for (const int length : given.lengths) {
      const auto begin = static_cast<std::size_t>(growing->length()), end = static_cast<std::size_t>(length);
      growing->skim(tokens(ids).subspan(begin, end - begin));
      print({{"what", "memory"},
             {"kind", growing->kind_name()},
             {"length", length},
             {"committed", growing->cache().committed_bytes()},
             {"footprint", growing->cache().footprint(length)}});
    }
    progress("memory, {}: read {} tokens", growing->kind_name(), growing->length());
    growing->clear();
  }
}

}  // namespace curves
