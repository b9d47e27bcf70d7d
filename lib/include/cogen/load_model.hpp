#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace cogen {

class model;

/// How activations are multiplied by weights. Within one type, build and instruction set, results are batch-invariant.
enum class compute_type : std::uint8_t {
  /// Weights as exactly the numbers that their format defines; activations and sums in float32.
  float32,

  /// Weights of 4 to 8 bits are multiplied in integers by activations rounded to 8 bits, with a scale for each 32 of
  /// them; the largest of the 32 may have 9 bits. An activation is off by at most half a 127th of the second largest of
  /// the 32, or of half the largest if that is more. Sums over the groups of 32 stay in float32. bfloat16 weights are
  /// multiplied by activations rounded to bfloat16 if the processor is fast at that. Other weights: as `float32`.
  int8,
};

/// Progress of loading.
struct load_progress {
  std::uint64_t done_bytes = 0;   ///< of weights read and converted
  std::uint64_t total_bytes = 0;  ///< of weights in the file
};

/// How a GPU stores the matrices of a model's layers, its embeddings and its output matrix, which are one in memory
/// where they are one in the file. Router and state-space weights, and position embeddings, are always
/// whole. Steps of more than 64 rows unpack each matrix first, but of fp8. Of experts that are
/// not whole, each multiplies all rows of a step.
enum class device_weights : std::uint8_t {
  whole,  ///< bfloat16, or float16 where the file's weights are
  int8,   ///< 8 bits a number, and a scale for each output, or for each token of an embedding

  /// 4 bits a number, and a scale and zero for each 32 inputs of an output. Codes of Q4_0, Q4_1 and Q4_K stay as they
  /// are. Logits are too sensitive for 4 bits: embeddings and the output matrix keep the codes that the file has for
  /// them, whatever their type, and otherwise have 8 bits as with `int8`.
  int4,

  /// 8-bit floats (OCP's E4M3), and a scale for each output; embeddings and the output matrix are whole. Steps of more
  /// than 64 rows round activations to such numbers, too, with a scale for each row, and multiply codes by codes: their
  /// results differ from those of smaller steps. GPUs for which LibTorch has no such products (of compute capability
  /// other than 8.9, 9 and 10) unpack the matrices instead, and round no activations. So does any GPU for a matrix with
  /// a side that is not a multiple of 16. "reference" rounds as GPUs with such products do. Experimental, as
  /// `stored`, and embeddings in few bits: not yet tested on GPU hardware.
  fp8,

  /// The codes of quantized matrices as the file has them, with the scales of their groups rounded to bfloat16, or
  /// float16 where the file's weights are. MXFP4 takes 4.5 bits a number, Q4_0, Q4_1 and Q4_K 5, Q5_0, Q5_1 and Q5_K 6,
  /// Q6_K 7, Q8_0 8.5. Others take more than in the file: Q1_0, Q2_0, TQ1_0 and TQ2_0 5, IQ1_S and IQ3_S 6, IQ1_M, Q3_K
  /// and NVFP4 7, Q2_K 8, IQ2_XXS, IQ3_XXS, IQ4_NL and IQ4_XS 8.5, IQ2_XS and IQ2_S 10. Matrices that one product
  /// multiplies by, such as those of queries, keys and values, get a form that holds the codes of all: Q4_K or Q5_K
  /// beside Q6_K 8 bits, anything else beside Q8_0 up to 10. Where one of them is not quantized, they are whole.
  stored,
};

/// How a model is split over processes, which mpirun has started: rank 0 runs the engine, and run_worker() is what the
/// others do. Without multi_token_prediction. With device "cuda", each rank has the GPU with its number among the ranks
/// of its machine; that is compiled, tested on "reference", and not yet tested on several GPUs.
struct parallel_options {
  /// Ranks that split every layer: heads with their keys and values, columns of feed-forwards, experts, rows of the
  /// vocabulary (Shoeybi et al., arXiv:1909.08053). Their partial sums are added in the order of ranks: results are
  /// batch-invariant, and differ from those of another number of ranks in rounding only. What cannot be split, such as
  /// mixers with a state, each rank computes.
  int tensor = 1;
  /// Groups of such ranks that have some layers each, one group after the other: the same bits as without. Two steps
  /// are in flight, each with half of the sequences that decode. On the CPU only, and not for models that make vectors
  /// of texts.
  int pipeline = 1;
};

/// This process's number, from 0, among those that mpirun has started; 0 if `options` are for one process. Throws what
/// load_model() does for options that this build or number of processes cannot have.
int process_rank(const parallel_options& options);

/// How load_model() loads, and where to.
struct load_options {
  /// Called on the loading thread before the first tensor and after each one. Returning false ends the loading with
  /// load_aborted; an exception ends it, too.
  std::function<bool(const load_progress&)> progress = {};
  std::optional<int> threads = {};  ///< at least 1, with the calling one; empty: as many as the process may run on
  /// Where weights are and engines compute: "cpu", "cuda" (that is "cuda:0", or of split models each rank's own GPU),
  /// "cuda:N", or "reference", which is LibTorch in float32. On a GPU, weights and activations are bfloat16, or float16
  /// if the file's weights are. Every model runs on each. On a GPU, parts that models of Llama's shape do not have are
  /// LibTorch's operators; their speed has not been measured.
  std::string device = "cpu";
  /// On a CPU `whole` or `stored`, which are the same there: the file's types.
  cogen::device_weights device_weights = cogen::device_weights::whole;
  /// Loads the model's layer for multi-token prediction, which mtp() drafts with. Its weights and its keys and values
  /// take memory, and every step runs it over its tokens. On the CPU only.
  bool multi_token_prediction = false;
  /// Refuses, before weights are read, what an engine with engine_options.batch_invariant would refuse of this model.
  bool batch_invariant = false;
  std::optional<std::string> chat_template = {};  ///< a Jinja template instead of the model's own
  parallel_options parallel = {};
};

/// load_options::progress returned false.
class load_aborted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Loads a GGUF file, a folder that contains one, or a Hugging Face folder. Weights keep the type they have in the
/// file, and compute as exactly the numbers that type defines; activations are float32. Throws load::load_error if the
/// file cannot be read or does not match its configuration, naming each tensor that is missing, unexpected or
/// misshapen. Throws std::invalid_argument for a model family that this build or device does not support (naming the
/// supported ones), an unavailable device, a number of threads below 1 or over 1024, impossible device_weights, or
/// multi_token_prediction where the model or the device has no layer for it, or batch_invariant where the device does
/// not compute a part of the model so; and for `parallel` if the program does not run as that many processes, if this
/// build has no MPI, or if the model cannot be split so. Also throws load_aborted, std::bad_alloc, and on a GPU
/// c10::OutOfMemoryError, which is a std::exception. Thread-safe, but for models that are split over processes.
std::shared_ptr<const model> load_model(const std::filesystem::path& path, const load_options& options = {});

}  // namespace cogen
