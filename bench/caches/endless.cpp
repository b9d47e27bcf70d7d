// One long text, judged token by token, in two ways: `keep` reads it in one go with one cache, which a full cache can
// only up to the model's length; `recompute` remembers nothing: for each --stride tokens it begins with an empty cache,
// reads the window - stride tokens before them, and then them, so that each is judged with window - stride to window -
// 1 tokens in view (fewer at the text's beginning).
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"
#include "repetition.hpp"
#include "scores.hpp"

#include <algorithm>
#include <cmath>

namespace curves {

namespace {

/// Gathers what the tokens of each bucket cost, and prints a bucket when it is full.
class buckets {
 public:
  buckets(const settings& given, const reader& reader, tokens ids) : given_(given), reader_(reader), ids_(ids) {}

  void add(double surprise) {
    sum_ += surprise;
    if (++count_ % given_.bucket_tokens == 0) print_bucket();
  }

 private:
  void print_bucket() {
    const auto size = static_cast<std::size_t>(given_.bucket_tokens), end = static_cast<std::size_t>(count_);
    const double nll = sum_ / given_.bucket_tokens;
    print({{"what", "endless"},
           {"how", given_.method},
           {"kind", reader_.kind_name()},
           {"from", end - size},
           {"to", end},
           {"nll", nll},
           {"perplexity", std::exp(nll)},
           {"distinct", distinct_fours(ids_.subspan(end - size, size))},
           {"committed", reader_.cache().committed_bytes()}});
    sum_ = 0;
    if (count_ % (given_.bucket_tokens * 5) == 0)
      progress("endless, {} {}: {} of {} tokens", reader_.kind_name(), given_.method, count_, given_.tokens);
  }

  const settings& given_;
  const reader& reader_;
  tokens ids_;
  double sum_ = 0;
  int count_ = 0;
};

struct reading {
  reader& source;
  tokens ids;  // one more than is read: the last is only judged
  std::size_t chunk;
};

/// Judges the tokens after [first, end), which are read in chunks.
void judge(const reading& here, std::size_t first, std::size_t end, buckets& output) {
  for (std::size_t position = first; position < end; position += here.chunk) {
    const auto part = here.ids.subspan(position, std::min(here.chunk, end - position));
    const auto seen = predict(here.source.read(part));
    for (std::size_t row = 0; row < part.size(); ++row) output.add(seen.surprise(row, here.ids[position + row + 1]));
  }
}

void recompute(const reading& here, const settings& given, buckets& output) {
  const auto count = here.ids.size() - 1, stride = static_cast<std::size_t>(given.stride);
  const auto overlap = static_cast<std::size_t>(given.window) - stride;
  for (std::size_t position = 0; position < count; position += stride) {
    const auto start = position - std::min(position, overlap);
    here.source.clear();
    if (start < position) here.source.skim(here.ids.subspan(start, position - start));
    judge(here, position, std::min(count, position + stride), output);
  }
}

}  // namespace

void endless(const cogen::model& model, const settings& given) {
  const bool keeps = given.method == "keep";
  const auto ids = tokens_of(model, given.text, static_cast<std::size_t>(given.tokens) + 1);
  const room room{.max_sequence_length = keeps ? given.tokens : given.window, .max_step_tokens = given.chunk};
  for (const auto& source : readers_of(model, given.kinds, room, given.threads)) {
    const reading here{*source, ids, static_cast<std::size_t>(given.chunk)};
    buckets output(given, *source, tokens(ids).subspan(1));
    keeps ? judge(here, 0, ids.size() - 1, output) : recompute(here, given, output);
    source->clear();
  }
}

}  // namespace curves
