#include "token_storage.hpp"

namespace cogen::cache {

std::vector<exported_run> token_storage::exported_runs(int length, scalar type) const {
  const std::int64_t bytes = exported_bytes(length);
  std::vector<exported_run> runs;
  if (bytes == 0) return runs;
  append(runs, {.bytes = exported_prefix()});
  const std::int64_t newest = bytes - layout_.stride;
  for (std::int64_t offset = exported_prefix(); offset < newest; offset += layout_.stride)
    append_block(runs, layout_, type);
  append_block(runs, layout_, type, (stored(length) - 1) % block_tokens + 1);
  return runs;
}

slot_footprint token_storage::compressed_terms(scalar type) const {
  std::vector<exported_run> block;
  append_block(block, layout_, type);
  slot_footprint terms = footprint_terms();
  const auto compressed = [&](std::int64_t& bytes) { bytes = bytes / layout_.stride * compressed_bytes(block); };
  compressed(terms.per_block);
  for (capped_term& term : terms.capped) compressed(term.per_block);
  terms.fixed += exported_prefix();
  return terms;
}

}  // namespace cogen::cache
