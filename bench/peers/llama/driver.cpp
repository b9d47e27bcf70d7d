// llama.cpp with continuous batching as its server does it, on the jobs of bench/peers: each step runs one token of
// every sequence that generates and then prompts up to n_batch tokens. Greedy; the end of sequence is ignored.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <llama.h>
#include <memory>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

struct settings {
  std::string model;
  int threads = 0;
  int batch = 2048;
  int ubatch = 512;
  bool unified = false;
  bool prefix_caching = false;
};

/// Jobs that read prompts and jobs that go on from there fit the same context.
constexpr int spare = 64;

struct job {
  long first = 0;
  int slots = 0;
  int prompt_tokens = 0;
  int new_tokens = 0;
  std::vector<double> arrivals;

  int length() const { return prompt_tokens + std::max(new_tokens, spare); }
};

struct request {
  long number = 0;                  ///< of the prompt
  std::vector<llama_token> tokens;  ///< the prompt, and what has been sampled
  int fed = 0;                      ///< of those, how many the cache holds
  int slot = -1;
  std::vector<double> times;
};

using model_pointer = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using context_pointer = std::unique_ptr<llama_context, decltype(&llama_free)>;

/// The same ids as bench/throughput makes.
std::vector<llama_token> prompt(long number, int length, int vocabulary) {
  std::vector<llama_token> ids;
  for (long j = 0; j < length; ++j)
    ids.push_back(static_cast<llama_token>((number * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

llama_token most_likely(const float* logits, int count) {
  std::array<float, 32> lanes;
  lanes.fill(logits[0]);
  int i = 0;
  for (; i + 32 <= count; i += 32)
    for (int j = 0; j < 32; ++j) lanes[j] = std::max(lanes[j], logits[i + j]);
  float best = *std::max_element(lanes.begin(), lanes.end());
  for (; i < count; ++i) best = std::max(best, logits[i]);
  return static_cast<llama_token>(std::find(logits, logits + count, best) - logits);
}

class token_batch {
 public:
  explicit token_batch(int most) : most_(most), batch_(llama_batch_init(most, 0, 1)) {}
  ~token_batch() { llama_batch_free(batch_); }
  token_batch(const token_batch&) = delete;

  int room() const { return most_ - batch_.n_tokens; }
  int size() const { return batch_.n_tokens; }
  void clear() { batch_.n_tokens = 0; }
  const llama_batch& get() const { return batch_; }

  void add(llama_token token, int position, int slot, bool wants_logits) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = slot;
    batch_.logits[i] = wants_logits;
  }

 private:
  int most_;
  llama_batch batch_;
};

class server {
 public:
  server(model_pointer model, const settings& wanted)
      : model_(std::move(model)),
        wanted_(wanted),
        vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model_.get()))),
        batch_(wanted.batch) {}

  std::vector<request> run(const job& work) {
    make_context(work);
    work_ = work;
    requests_.assign(work.arrivals.size(), {});
    running_.clear();
    waiting_.clear();
    begin_ = clock_type::now();
    for (std::size_t arrived = 0, ended = 0; ended < requests_.size();) {
      arrived = take_in(arrived);
      admission_result();
      if (running_.empty())
        std::this_thread::sleep_until(begin_ + duration_cast<clock_type::duration>(seconds(work.arrivals[arrived])));
      else
        ended += step();
    }
    return std::move(requests_);
  }

 private:
  /// One context for as long as jobs fit it, as a server would have it.
  void make_context(const job& work) {
    if (!context_ || work.slots != work_.slots || work.length() != work_.length()) {
      context_.reset();
      auto params = llama_context_default_params();
      params.n_ctx = static_cast<unsigned>(work.slots * ((work.length() + 255) / 256 * 256));
      params.n_batch = static_cast<unsigned>(wanted_.batch);
      params.n_ubatch = static_cast<unsigned>(wanted_.ubatch);
      params.n_seq_max = static_cast<unsigned>(work.slots);
      params.n_outputs_max = params.n_seq_max;
      params.n_threads = params.n_threads_batch = wanted_.threads;
      params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
      params.kv_unified = wanted_.unified;
      params.no_perf = true;
      context_.reset(llama_init_from_model(model_.get(), params));
      if (!context_) throw std::runtime_error("the context could not be made");
      free_.clear();
      for (int i = 0; i < work.slots; ++i) free_.push_back({i, no_request});
    }
  }

  double now() const { return seconds(clock_type::now() - begin_).count(); }

  std::size_t take_in(std::size_t arrived) {
    const double passed = now();
    for (; arrived < requests_.size() && work_.arrivals[arrived] <= passed; ++arrived) {
      requests_[arrived].number = work_.first + static_cast<long>(arrived);
      requests_[arrived].tokens = prompt(requests_[arrived].number, work_.prompt_tokens, vocabulary_);
      waiting_.push_back(&requests_[arrived]);
    }
    return arrived;
  }

  void admission_result() {
    for (; !waiting_.empty() && !free_.empty(); waiting_.pop_front()) {
      auto& entry = *waiting_.front();
      auto found = std::ranges::find(free_, entry.number, &slot::holds);
      const bool hit = wanted_.prefix_caching && found != free_.end();
      if (!hit) found = free_.begin();
      entry.slot = found->number;
      entry.fed = hit ? work_.prompt_tokens - 1 : 0;
      go_back(entry);
      free_.erase(found);
      running_.push_back(&entry);
    }
  }

  /// To what it has been fed. A recurrent state cannot go back: then the prompt is read again.
  void go_back(request& entry) {
    auto* const memory = llama_get_memory(context_.get());
    if (llama_memory_seq_rm(memory, entry.slot, entry.fed, -1)) return;
    llama_memory_seq_rm(memory, entry.slot, -1, -1);
    entry.fed = 0;
  }

  void add(request& entry, int count) {
    for (int i = 0; i < count; ++i, ++entry.fed)
      batch_.add(entry.tokens[static_cast<std::size_t>(entry.fed)], entry.fed, entry.slot,
                 entry.fed + 1 == static_cast<int>(entry.tokens.size()));
    if (entry.fed == static_cast<int>(entry.tokens.size())) sampled_.push_back({&entry, batch_.size() - 1});
  }

  /// Returns how many requests have ended.
  std::size_t step() {
    batch_.clear();
    sampled_.clear();
    for (auto* entry : running_)
      if (!entry->times.empty()) add(*entry, 1);
    for (auto* entry : running_)
      if (entry->times.empty()) add(*entry, std::min(batch_.room(), work_.prompt_tokens - entry->fed));
    if (const int status = llama_decode(context_.get(), batch_.get()))
      throw std::runtime_error("llama_decode ended with status " + std::to_string(status));
    for (const auto& [entry, row] : sampled_) {
      entry->tokens.push_back(most_likely(llama_get_logits_ith(context_.get(), row), vocabulary_));
      entry->times.push_back(now());
    }
    return let_go();
  }

  std::size_t let_go() {
    return std::erase_if(running_, [&](request* entry) {
      if (static_cast<int>(entry->times.size()) < work_.new_tokens) return false;
      free_.push_back({entry->slot, entry->number});
      return true;
    });
  }

  static constexpr long no_request = -1;

  struct slot {
    int number;
    long holds;  ///< the number of a prompt
  };

  struct row_of_request {
    request* seq;
    int row;
  };

  model_pointer model_;
  settings wanted_;
  int vocabulary_;
  token_batch batch_;
  context_pointer context_{nullptr, llama_free};
  job work_;
  clock_type::time_point begin_;
  std::vector<request> requests_;
  std::vector<request*> running_;
  std::deque<request*> waiting_;
  std::deque<slot> free_;
  std::vector<row_of_request> sampled_;
};

job parsed(const std::string& line) {
  job found;
  std::stringstream stream(line);
  stream >> found.first >> found.slots >> found.prompt_tokens >> found.new_tokens;
  for (double arrival; stream >> arrival;) found.arrivals.push_back(arrival);
  if (found.slots < 1 || found.prompt_tokens < 1 || found.new_tokens < 1 || found.arrivals.empty())
    throw std::invalid_argument("\"" + line + "\" is not FIRST SLOTS PROMPT_TOKENS NEW_TOKENS ARRIVAL...");
  return found;
}

void tell(const std::vector<request>& requests) {
  std::printf("{\"times\": [");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::printf(i ? ",[" : "[");
    const auto& times = requests[i].times;
    for (std::size_t j = 0; j < times.size(); ++j) std::printf(j ? ",%.5f" : "%.5f", times[j]);
    std::printf("]");
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

settings parse(int argc, char** argv) {
  settings wanted;
  wanted.threads = processors();
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool takes_one = name != "--unified" && name != "--prefix-caching";
    if (takes_one && i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    if (name == "--model")
      wanted.model = argv[++i];
    else if (name == "--threads")
      wanted.threads = std::atoi(argv[++i]);
    else if (name == "--batch")
      wanted.batch = std::atoi(argv[++i]);
    else if (name == "--ubatch")
      wanted.ubatch = std::atoi(argv[++i]);
    else if (name == "--unified")
      wanted.unified = true;
    else if (name == "--prefix-caching")
      wanted.prefix_caching = true;
    else
      throw std::invalid_argument(
          name + ": there are --model FILE, --threads, --batch, --ubatch, --unified and --prefix-caching");
  }
  if (wanted.model.empty() || wanted.threads < 1 || wanted.batch < 1 || wanted.ubatch < 1)
    throw std::invalid_argument("--model FILE is needed, and each number must be at least 1");
  return wanted;
}

void serve(const settings& wanted) {
  std::printf("{\"hello\": \"llama.cpp\"}\n");
  std::fflush(stdout);
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  model_pointer model(llama_model_load_from_file(wanted.model.c_str(), llama_model_default_params()), llama_model_free);
  if (!model) throw std::runtime_error("the model could not be loaded");
  std::array<char, 128> about;
  llama_model_desc(model.get(), about.data(), about.size());
  server serving(std::move(model), wanted);
  std::printf("{\"ready\": \"%s, n_batch %d, n_ubatch %d, %d threads, %s cache\"}\n", about.data(), wanted.batch,
              wanted.ubatch, wanted.threads, wanted.unified ? "unified" : "split");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) tell(serving.run(parsed(line)));
}

}  // namespace

int main(int argc, char** argv) try {
  serve(parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "llama_driver: %s\n", e.what());
  return 1;
}
