// The logits of llama.cpp after each token of some windows: reads token ids from standard input, a window a line, and
// writes float32 [tokens, vocabulary] to standard output. The settings are those of the driver.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <llama.h>
#include <sched.h>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int chunk = 512;

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

std::vector<llama_token> ids_in(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<llama_token>(words), {}};
}

bool write_logits(llama_context* context, llama_batch& batch, const std::vector<llama_token>& ids, int vocabulary) {
  llama_memory_clear(llama_get_memory(context), true);
  const auto count = static_cast<int>(ids.size());
  for (int first = 0; first < count; first += chunk) {
    batch.n_tokens = std::min(chunk, count - first);
    for (int i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = ids[static_cast<std::size_t>(first + i)];
      batch.pos[i] = first + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = true;
    }
    if (llama_decode(context, batch) != 0) return false;
    const auto numbers = static_cast<std::size_t>(batch.n_tokens) * static_cast<std::size_t>(vocabulary);
    if (std::fwrite(llama_get_logits(context), sizeof(float), numbers, stdout) != numbers) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: llama_scores MODEL.gguf < windows > logits\n";
    return 2;
  }
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level >= GGML_LOG_LEVEL_ERROR) std::cerr << text;
      },
      nullptr);
  auto loading = llama_model_default_params();
  loading.use_extra_bufts = false;  // its products with AMX fail on some virtual machines
  llama_model* const model = llama_model_load_from_file(arguments[1], loading);
  if (!model) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<std::vector<llama_token>> windows;
  for (std::string line; std::getline(std::cin, line);) windows.push_back(ids_in(line));
  std::size_t longest = 1;
  for (const auto& each : windows) longest = std::max(longest, each.size());
  auto params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>((longest + 255) / 256 * 256);
  params.n_batch = params.n_ubatch = chunk;
  params.n_threads = params.n_threads_batch = processors();
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.no_perf = true;
  llama_context* const context = llama_init_from_model(model, params);
  if (!context) return 1;
  llama_batch batch = llama_batch_init(chunk, 0, 1);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (!write_logits(context, batch, windows[i], vocabulary)) return 1;
    std::cerr << "window " << i + 1 << " of " << windows.size() << "\n";
  }
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
}
