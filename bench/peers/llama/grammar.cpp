// Tokens a second of llama.cpp with the grammar of a JSON schema on all streams and without it, in turns, as its server
// samples: a token is sampled first, and where the grammar refuses it, the grammar is applied to all tokens and another
// one is sampled. What bench/structured_output measures of cogen: llama_grammar --model FILE --schema FILE.
#include "json-schema-to-grammar.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <llama.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

const std::string prompt =
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nList people with their names, ages, towns and languages.<|im_end|>\n<|im_start|>assistant\n";

struct settings {
  std::string model, schema;
  std::vector<int> streams{1, 8, 32};
  int tokens = 128;
  int rounds = 9;
};

struct cost {
  double time;
  double processor;  // of all threads
};

using model_pointer = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using context_pointer = std::unique_ptr<llama_context, decltype(&llama_free)>;
using sampler_pointer = std::unique_ptr<llama_sampler, decltype(&llama_sampler_free)>;

/// One stream's sampler: temperature 0.8 and top-p 0.95, and a grammar if there is one.
class sampler {
 public:
  sampler(const llama_vocab* vocabulary, unsigned seed, const std::string& grammar)
      : size_(llama_vocab_n_tokens(vocabulary)),
        chain_(llama_sampler_chain_init(llama_sampler_chain_default_params()), llama_sampler_free),
        grammar_(nullptr, llama_sampler_free) {
    llama_sampler_chain_add(chain_.get(), llama_sampler_init_top_p(0.95F, 1));
    llama_sampler_chain_add(chain_.get(), llama_sampler_init_temp(0.8F));
    llama_sampler_chain_add(chain_.get(), llama_sampler_init_dist(seed));
    if (grammar.empty()) return;
    grammar_.reset(llama_sampler_init_grammar(vocabulary, grammar.c_str(), "root"));
    if (!grammar_) throw std::runtime_error("llama.cpp does not read its grammar of the schema");
  }

  llama_token sample(const float* logits) {
    auto found = sampled_of(logits, false);
    if (grammar_ && !allows(found)) found = sampled_of(logits, true);
    llama_sampler_accept(chain_.get(), found);
    if (grammar_) llama_sampler_accept(grammar_.get(), found);
    return found;
  }

 private:
  llama_token sampled_of(const float* logits, bool constrained) {
    candidates_.resize(static_cast<std::size_t>(size_));
    for (int id = 0; id < size_; ++id) candidates_[static_cast<std::size_t>(id)] = {id, logits[id], 0};
    llama_token_data_array candidates{candidates_.data(), candidates_.size(), -1, false};
    if (constrained) llama_sampler_apply(grammar_.get(), &candidates);
    llama_sampler_apply(chain_.get(), &candidates);
    return candidates.data[candidates.selected].id;
  }

  bool allows(llama_token id) {
    llama_token_data candidate{id, 1, 0};
    llama_token_data_array candidates{&candidate, 1, -1, false};
    llama_sampler_apply(grammar_.get(), &candidates);
    return !std::isinf(candidate.logit);
  }

  int size_;
  sampler_pointer chain_, grammar_;
  std::vector<llama_token_data> candidates_;
};

std::vector<llama_token> tokens_of(const llama_vocab* vocabulary, const std::string& text) {
  std::vector<llama_token> tokens(text.size());
  const int count = llama_tokenize(vocabulary, text.data(), static_cast<int>(text.size()), tokens.data(),
                                   static_cast<int>(tokens.size()), false, true);
  if (count < 1) throw std::runtime_error("the prompt has no tokens");
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

context_pointer context_for(llama_model* model, int streams, int length) {
  auto params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(streams * ((length + 255) / 256 * 256));
  params.n_seq_max = params.n_outputs_max = static_cast<unsigned>(streams);
  params.n_threads = params.n_threads_batch = static_cast<int>(std::thread::hardware_concurrency());
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.no_perf = true;
  context_pointer context(llama_init_from_model(model, params), llama_free);
  if (!context) throw std::runtime_error("the context could not be made");
  return context;
}

class batch {
 public:
  explicit batch(int most) : batch_(llama_batch_init(most, 0, 1)) {}
  ~batch() { llama_batch_free(batch_); }
  batch(const batch&) = delete;

  void clear() { batch_.n_tokens = 0; }

  void add(llama_token token, int position, int stream, bool wants_logits) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = stream;
    batch_.logits[i] = wants_logits;
  }

  void run(llama_context* context) const {
    if (llama_decode(context, batch_) != 0) throw std::runtime_error("llama_decode failed");
  }

 private:
  llama_batch batch_;
};

double processor_time() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Of all tokens behind the prompts.
cost cost_of(llama_context* context, const llama_vocab* vocabulary, int streams, int tokens,
             const std::string& grammar) {
  const auto read = tokens_of(vocabulary, prompt);
  llama_memory_clear(llama_get_memory(context), true);
  std::vector<sampler> samplers;
  std::vector<llama_token> last;
  batch rows(std::max<int>(streams, static_cast<int>(read.size())));
  for (int i = 0; i < streams; ++i) {
    rows.clear();
    for (std::size_t index = 0; index < read.size(); ++index)
      rows.add(read[index], static_cast<int>(index), i, index + 1 == read.size());
    rows.run(context);
    samplers.emplace_back(vocabulary, static_cast<unsigned>(i), grammar);
    last.push_back(samplers.back().sample(llama_get_logits_ith(context, -1)));
  }
  const auto start = std::chrono::steady_clock::now();
  const double used = processor_time();
  for (int step = 1; step < tokens; ++step) {
    rows.clear();
    for (int i = 0; i < streams; ++i)
      rows.add(last[static_cast<std::size_t>(i)], static_cast<int>(read.size()) + step - 1, i, true);
    rows.run(context);
    for (int i = 0; i < streams; ++i)
      last[static_cast<std::size_t>(i)] =
          samplers[static_cast<std::size_t>(i)].sample(llama_get_logits_ith(context, i));
  }
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), processor_time() - used};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(llama_model* model, const settings& wanted, int streams, const std::string& grammar) {
  const auto* const vocabulary = llama_model_get_vocab(model);
  const auto context = context_for(model, streams, wanted.tokens + 128);
  const auto take = [&](const std::string& rules) {
    return cost_of(context.get(), vocabulary, streams, wanted.tokens, rules);
  };
  std::vector<double> free, constrained, ratios, processor;
  take(""), take(grammar);
  for (int i = 0; i < wanted.rounds; ++i) {
    const auto without = take(""), with = take(grammar);
    free.push_back(without.time);
    constrained.push_back(with.time);
    ratios.push_back(without.time / with.time);
    processor.push_back(without.processor / with.processor);
  }
  const auto rate = [&](const std::vector<double>& times) { return streams * (wanted.tokens - 1) / median(times); };
  std::printf(
      "%3d streams: %5.0f tokens/s without, %5.0f with the grammar: %.3f of the rate (%.3f to %.3f), %.3f by processor "
      "time (%.3f to %.3f)\n",
      streams, rate(free), rate(constrained), median(ratios), std::ranges::min(ratios), std::ranges::max(ratios),
      median(processor), std::ranges::min(processor), std::ranges::max(processor));
  std::fflush(stdout);
}

std::string grammar_of(const std::string& schema) {
  std::ifstream file(schema);
  if (!file) throw std::runtime_error(schema + " cannot be read");
  return json_schema_to_grammar(common_json::parse({std::istreambuf_iterator<char>(file), {}}));
}

settings parse(int argc, char** argv) {
  settings wanted;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--model")
      wanted.model = argv[i + 1];
    else if (name == "--schema")
      wanted.schema = argv[i + 1];
    else if (name == "--streams")
      wanted.streams = {std::atoi(argv[i + 1])};
    else if (name == "--tokens")
      wanted.tokens = std::atoi(argv[i + 1]);
    else if (name == "--rounds")
      wanted.rounds = std::atoi(argv[i + 1]);
    else
      throw std::invalid_argument(name + ": there are --model and --schema FILE, --streams, --tokens and --rounds");
  }
  if (wanted.model.empty() || wanted.schema.empty() || wanted.tokens < 2 || wanted.rounds < 1 || wanted.streams[0] < 1)
    throw std::invalid_argument("--model FILE and --schema FILE are needed, and at least 1 of each other, 2 --tokens");
  return wanted;
}

void run(const settings& wanted) {
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  const auto grammar = grammar_of(wanted.schema);
  auto loading = llama_model_default_params();
  loading.use_extra_bufts = false;  // its products with AMX fail on some virtual machines
  const model_pointer model(llama_model_load_from_file(wanted.model.c_str(), loading), llama_model_free);
  if (!model) throw std::runtime_error("the model could not be loaded");
  for (const int streams : wanted.streams) measure(model.get(), wanted, streams, grammar);
}

}  // namespace

int main(int argc, char** argv) try {
  run(parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "llama_grammar: %s\n", e.what());
  return 1;
}
