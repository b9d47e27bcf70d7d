// The model goes on from the text's first tokens with what it sampled itself. Special tokens are never sampled: the
// text has no end.
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"
#include "repetition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace curves {

namespace {

constexpr std::size_t prompt_tokens = 64;

class writer {
 public:
  writer(const cogen::model& model, const settings& given) : temperature_(given.temperature), random_(given.seed) {
    const auto& tokenizer = model.tokenizer();
    for (std::size_t id = 0; id < tokenizer.size(); ++id)
      if (tokenizer.is_special(static_cast<cogen::token>(id))) never_.push_back(id);
  }

  cogen::token draw(std::span<const float> logits) {
    weights_.assign(logits.begin(), logits.end());
    for (const auto id : never_) weights_[id] = -std::numeric_limits<double>::infinity();
    const double most = *std::max_element(weights_.begin(), weights_.end());
    for (auto& each : weights_) each = std::exp((each - most) / temperature_);
    return static_cast<cogen::token>(std::discrete_distribution<int>(weights_.begin(), weights_.end())(random_));
  }

 private:
  double temperature_;
  std::mt19937_64 random_;
  std::vector<std::size_t> never_;
  std::vector<double> weights_;
};

void print_bucket(const cogen::model& model, const reader& here, tokens written, int end, const settings& given) {
  print({{"what", "free"},
         {"kind", here.kind_name()},
         {"temperature", given.temperature},
         {"seed", given.seed},
         {"from", end - given.bucket_tokens},
         {"to", end},
         {"distinct", distinct_fours(written)},
         {"committed", here.cache().committed_bytes()},
         {"sample", model.tokenizer().decode(written.first(std::min<std::size_t>(48, written.size())))}});
  if (end % (given.bucket_tokens * 5) == 0) progress("free, {}: {} of {} tokens", here.kind_name(), end, given.tokens);
}

void write(const cogen::model& model, reader& here, tokens prompt, const settings& given) {
  writer pen(model, given);
  std::vector<cogen::token> bucket;
  auto logits = here.skim(prompt);
  for (int i = 1; i <= given.tokens; ++i) {
    bucket.push_back(pen.draw(logits[0]));
    logits = here.skim(tokens(bucket).last(1));
    if (i % given.bucket_tokens != 0) continue;
    print_bucket(model, here, bucket, i, given);
    bucket.clear();
  }
}

}  // namespace

void free_running(const cogen::model& model, const settings& given) {
  const auto prompt = tokens_of(model, given.text, prompt_tokens);
  const room room{.max_sequence_length = given.tokens + static_cast<int>(prompt_tokens),
                  .max_step_tokens = given.chunk};
  for (const auto& source : readers_of(model, given.kinds, room, given.threads)) {
    write(model, *source, prompt, given);
    source->clear();
  }
}

}  // namespace curves
