// Writes a GGUF model again with llama.cpp's own rounding, such as to Q4_K, which gguf's Python package cannot write.
#include <iostream>
#include <llama.h>
#include <map>
#include <string>

namespace {

const std::map<std::string, llama_ftype> formats{
    {"Q4_K_M", LLAMA_FTYPE_MOSTLY_Q4_K_M}, {"Q5_K_M", LLAMA_FTYPE_MOSTLY_Q5_K_M}, {"Q6_K", LLAMA_FTYPE_MOSTLY_Q6_K}};

}  // namespace

int main(int argc, char** argv) {
  const auto format = argc == 4 ? formats.find(argv[3]) : formats.end();
  if (format == formats.end()) {
    std::cerr << "usage: llama_quantize FILE.gguf OUT.gguf Q4_K_M|Q5_K_M|Q6_K\n";
    return 2;
  }
  auto options = llama_model_quantize_default_params();
  options.ftype = format->second;
  options.allow_requantize = true;
  llama_backend_init();
  return llama_model_quantize(argv[1], argv[2], &options) == 0 ? 0 : 1;
}
