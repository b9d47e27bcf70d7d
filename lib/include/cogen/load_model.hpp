#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace cogen {

class model;

/// How far loading has come.
struct load_progress {
  std::uint64_t done_bytes = 0;   ///< of weights read and packed
  std::uint64_t total_bytes = 0;  ///< of weights in the file
};

/// How a GPU keeps the matrices of a model's layers. Embeddings and the last product stay whole.
enum class device_weights : std::uint8_t {
  whole,  ///< bfloat16, or float16 where the file's weights are
  int8,   ///< 8 bits a number, and a scale for each output
  int4,   ///< 4 bits a number, and a scale and a zero in bfloat16 for each 32 inputs of an output; codes of Q4_0 and
         ///< Q4_1 stay what they are. A third of what is read for one token, and slower where many are computed at once
};

struct load_options {
  /// Called on the loading thread before the first tensor and after each one. Returning false ends the loading with
  /// load_aborted; what it throws ends it too.
  std::function<bool(const load_progress&)> progress = {};
  /// Threads that read and pack, the calling one among them. 0: as many as the process may run on.
  int threads = 0;
  /// Where the model's weights lie and its engines compute: "cpu", "cuda", which is "cuda:0", or "cuda:N". On a GPU
  /// weights and activations are bfloat16, or float16 where the file's weights are.
  std::string device = "cpu";
  /// On a CPU whole means that weights stay as they are in the file, and there is nothing else.
  cogen::device_weights device_weights = cogen::device_weights::whole;
};

/// load_options::progress said no.
class load_aborted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Loads a GGUF file, a folder that holds one, or a Hugging Face folder. Weights keep the type they have in the file
/// and are used as exactly the numbers that type defines; activations are float32.
///
/// Throws load::load_error where the file cannot be read or does not hold what its configuration says (each tensor that
/// is missing, left over or of another shape is named), std::invalid_argument for a model family this build does not
/// know, or does not know on that device (naming it and the ones it knows), a device that is not there, a negative
/// number of threads, device_weights that are not possible, load_aborted, std::bad_alloc, and on a GPU
/// c10::OutOfMemoryError, which is a std::exception. May be called from any thread, and from several at once.
std::shared_ptr<const model> load_model(const std::filesystem::path& path, const load_options& options = {});

}  // namespace cogen
