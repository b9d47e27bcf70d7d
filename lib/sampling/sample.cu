#include "sampling/random_stream.hpp"
#include "sampling/sample_cuda.hpp"
#include "sampling/softmax.hpp"

#include <limits>
#include <type_traits>

// Compiled without contraction to fused multiply-adds, since weights must be those of the CPU, and with relaxed
// constexpr, since they are computed by the same functions. One block samples one row; all of its threads make every
// call below together, except where a function says otherwise.

namespace cogen::cuda {
namespace {

constexpr int threads = 1024;
constexpr int warp_size = 32;
constexpr int warps = threads / warp_size;
constexpr unsigned everyone = 0xffffffff;
constexpr int segment = 512;  // ids that a warp reads together
constexpr int max_segments = max_sampled_vocabulary / segment;
constexpr int in_segment = segment / warp_size;
constexpr int list_room = 1024;
constexpr int listed_for_top_p = 512;  // about as many are listed where nothing else says how many
constexpr int max_bins = 1024;
constexpr float infinity = std::numeric_limits<float>::infinity();

static_assert(list_room <= threads && max_bins <= threads && segment <= threads && max_segments <= threads);

/// Larger for larger logits, equal for equal ones, zeros of both signs included.
using logit_key = std::uint32_t;

/// Larger for what ranks first: larger logits, then lower ids.
using rank_key = std::uint64_t;

__device__ logit_key key_of(float logit) {
  const auto bits = __float_as_uint(logit + 0.0F);
  return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

__device__ float logit_of(logit_key key) { return __uint_as_float((key & 0x80000000) != 0 ? key & 0x7fffffff : ~key); }

__device__ rank_key rank_of(token id, float logit) {
  return rank_key{key_of(logit)} << 32 | (0xffffffff - static_cast<std::uint32_t>(id));
}

__device__ token id_of(rank_key rank) { return static_cast<token>(0xffffffff - static_cast<std::uint32_t>(rank)); }

/// Weights in [0, 1] fall into bins of an eighth of a power of two; 0 falls into bin 0, and 1 into the last one.
constexpr int weight_bins = 1017;
__device__ int bin_of(float weight) { return static_cast<int>(__float_as_uint(weight) >> 20); }

/// A positive weight as a whole number of units that all weights of its bin share.
__device__ std::uint32_t units_of(float weight) { return (__float_as_uint(weight) & 0x7fffff) | 0x800000; }

/// One unit of the weights of a bin, a power of two.
__device__ double unit_of(int bin) { return __hiloint2double(((bin >> 3) - 150 + 1023) << 20, 0); }

/// Sums of whole numbers below 2^24, exact for all that a row has, and the same in whatever order they are added.
struct exact_sums {
  std::uint32_t low[max_bins];
  std::uint32_t high[max_bins];

  __device__ void clear(int bins) {
    if (threadIdx.x < bins) low[threadIdx.x] = high[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add(int bin, std::uint32_t units) {  // one thread
    atomicAdd(&low[bin], units & 0xfff);
    if (units > 0xfff) atomicAdd(&high[bin], units >> 12);
  }
  __device__ std::uint64_t value(int bin) const { return (std::uint64_t{high[bin]} << 12) + low[bin]; }
};

/// What a row's block works with in its shared memory.
struct workspace {
  rank_key best[warps];
  logit_key thread_best[threads];
  exact_sums sums;
  double segment_sums[max_segments];
  float weights[threads];  // of a segment, or of the list
  int listed;              // how many belong in the list; more than list_room: it is of no use
  token ids[list_room];
  float logits[list_room];
  token ordered[list_room];
  int kept;  // entries of `ordered`, or of `top`
  rank_key top[max_top_logprobs];
  // Results that one thread shares with the others.
  double total;
  double sum;
  int bin;
  rank_key selected;
  std::uint64_t rest;
  std::uint64_t found;
  token chosen;
  float raw;
  float raw_last;  // logit of the slot's kept token, before the row is processed
};

/// The entry of a list at which a running sum reaches what was looked for.
template <typename T>
struct place {
  int index;
  T prefix;  ///< sum of all entries before it
  T total;
};

/// The first of `count` entries with a positive value at which reached(sum of all up to it) holds; the last positive
/// one where that never comes to be. For one whole warp. The order of additions depends on `count` alone.
template <typename T, typename ValueAt, typename Reached>
__device__ place<T> locate(int count, ValueAt value_at, Reached reached) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int share = ((count + warp_size - 1) / warp_size) | 1;  // odd: lanes read different banks
  const int begin = min(lane * share, count);
  const int end = min(begin + share, count);
  T sum = 0;
  for (int i = begin; i < end; ++i) sum += value_at(i);
  T through = sum;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const T previous = __shfl_up_sync(everyone, through, distance);
    if (lane >= distance) through = previous + through;
  }
  T running = __shfl_up_sync(everyone, through, 1);
  if (lane == 0) running = 0;
  const unsigned positive = __ballot_sync(everyone, sum > 0);
  const unsigned beyond = __ballot_sync(everyone, sum > 0 && reached(through));
  const int owner = beyond != 0 ? __ffs(beyond) - 1 : positive != 0 ? warp_size - 1 - __clz(positive) : 0;
  place<T> found{begin, running, 0};
  for (int i = begin; lane == owner && i < end; ++i) {
    const T value = value_at(i);
    if (!(value > 0)) continue;
    found.index = i;
    found.prefix = running;
    running += value;
    if (reached(running)) break;
  }
  found.index = __shfl_sync(everyone, found.index, owner);
  found.prefix = __shfl_sync(everyone, found.prefix, owner);
  found.total = __shfl_sync(everyone, through, warp_size - 1);
  return found;
}

__device__ bool in_first_warp() { return threadIdx.x < warp_size; }

/// The logits of one row.
struct row {
  float* logits;
  int vocabulary;

  __device__ int segments() const { return (vocabulary + segment - 1) / segment; }

  /// Calls visit(id, logit) for every entry, and end(segment) after each segment's; minus infinity stands for those
  /// beyond the vocabulary. Which thread visits which ids in which order depends on the vocabulary alone.
  template <typename Visit, typename End>
  __device__ void for_each(Visit visit, End end) const {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const bool aligned = reinterpret_cast<std::uintptr_t>(logits) % sizeof(float4) == 0;
    for (int s = warp; s < segments(); s += warps) {
      float4 values[in_segment / 4];
#pragma unroll
      for (int i = 0; i < in_segment / 4; ++i) values[i] = four_at(s * segment + (i * warp_size + lane) * 4, aligned);
#pragma unroll
      for (int i = 0; i < in_segment / 4; ++i) {
        const int id = s * segment + (i * warp_size + lane) * 4;
        visit(id, values[i].x);
        visit(id + 1, values[i].y);
        visit(id + 2, values[i].z);
        visit(id + 3, values[i].w);
      }
      end(s);
    }
  }

  template <typename Visit>
  __device__ void for_each(Visit visit) const {
    for_each(visit, [](int) {});
  }

  __device__ float4 four_at(int id, bool aligned) const {
    if (aligned && id + 3 < vocabulary) return *reinterpret_cast<const float4*>(logits + id);
    return {logit_at(id), logit_at(id + 1), logit_at(id + 2), logit_at(id + 3)};
  }

  __device__ float logit_at(int id) const { return id < vocabulary ? logits[id] : -infinity; }
};

/// Entries of a row that were copied to shared memory, in no order.
struct list {
  const workspace& in;

  template <typename Visit>
  __device__ void for_each(Visit visit) const {
    if (static_cast<int>(threadIdx.x) < in.listed) visit(in.ids[threadIdx.x], in.logits[threadIdx.x]);
  }
};

/// Which tokens are left, by rank and weight; those of weight 0 are never sampled.
struct bounds {
  rank_key rank = 0;
  float min_p = 0;
};

struct weigher {
  softmax_scale scale;
  bounds kept;

  __device__ float operator()(token id, float logit) const {
    if (kept.rank != 0 && rank_of(id, logit) < kept.rank) return 0;
    const float weight = weight_of(logit, scale);
    return weight >= kept.min_p ? weight : 0;
  }
};

// What goes before the choice

__device__ bool inside(token id, const row& entries) { return id >= 0 && id < entries.vocabulary; }

__device__ void penalize(const sampling_row& params, const token_count& count, const row& entries) {  // one thread
  if (!inside(count.id, entries)) return;
  float logit = entries.logits[count.id];
  if (params.repetition_penalty != 1 && count.total > 0)
    logit = logit < 0 ? logit * params.repetition_penalty : logit / params.repetition_penalty;
  if ((params.presence_penalty != 0 || params.frequency_penalty != 0) && count.generated > 0)
    logit -= static_cast<float>(count.generated) * params.frequency_penalty + params.presence_penalty;
  entries.logits[count.id] = logit;
}

__device__ bool penalizes(const sampling_row& params) {
  return params.repetition_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
}

__device__ void penalize(const device_samples& batch, const sampling_row& params, const row& entries, workspace& work) {
  const token last = params.unknown_last ? batch.last_tokens[params.slot] : -1;
  if (threadIdx.x == 0) work.found = 0;
  __syncthreads();
  for (auto i = threadIdx.x; i < params.counts.count; i += threads) {
    token_count count = batch.counts[params.counts.begin + i];
    if (params.unknown_last && count.id == last) {
      work.found = 1;  // by the one thread whose it is
      ++count.total;
      ++count.generated;
    }
    penalize(params, count, entries);
  }
  __syncthreads();
  if (params.unknown_last && threadIdx.x == 0 && work.found == 0) penalize(params, {last, 1, 1}, entries);
  __syncthreads();
}

__device__ void apply_mask(const std::uint64_t* mask, const row& entries) {
  for (int id = static_cast<int>(threadIdx.x); id < entries.vocabulary; id += threads)
    if ((mask[id / 64] >> (id % 64) & 1) == 0) entries.logits[id] = -infinity;
  __syncthreads();
}

/// The logits that the token is chosen from.
__device__ void process(const device_samples& batch, const sampling_row& params, const row& entries, workspace& work) {
  for (auto i = threadIdx.x; i < params.biases.count; i += threads) {
    const token_bias bias = batch.biases[params.biases.begin + i];
    if (inside(bias.id, entries)) entries.logits[bias.id] += bias.value;
  }
  __syncthreads();
  if (penalizes(params)) penalize(batch, params, entries, work);
  for (auto i = threadIdx.x; i < params.held_back.count; i += threads)
    if (const token id = batch.biases[params.held_back.begin + i].id; inside(id, entries))
      entries.logits[id] = -infinity;
  __syncthreads();
  if (params.mask.count > 0) apply_mask(batch.masks + params.mask.begin, entries);
}

struct scan {
  rank_key best;
  bool finite;  ///< no entry is NaN or plus infinity
};

/// Reads the row once; leaves each thread's largest in `work.thread_best`.
__device__ scan scan_row(const row& entries, workspace& work) {
  float largest = -infinity;
  token first = entries.vocabulary;  // of the thread's own, which it visits in order of ids
  bool unfit = false;
  entries.for_each([&](token id, float logit) {
    unfit |= !(logit < infinity);
    if (logit > largest) {
      largest = logit;
      first = id;
    }
  });
  rank_key best = rank_of(first, largest);
  work.thread_best[threadIdx.x] = key_of(largest);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    best = max(best, __shfl_xor_sync(everyone, best, distance));
  if (threadIdx.x % warp_size == 0) work.best[threadIdx.x / warp_size] = best;
  const bool finite = __syncthreads_or(unfit ? 1 : 0) == 0;
  best = work.best[0];
  for (int i = 1; i < warps; ++i) best = max(best, work.best[i]);
  return {best, finite};
}

// Selection by rank

/// What select() found: a rank key, zero in those of its low bits that were not asked for.
struct selection {
  rank_key rank;
  std::uint64_t rest;   ///< units wanted of the entries that agree with `rank` so far
  std::uint64_t found;  ///< units that these have
};

/// Goes on from `so_far`, of which all bits from `high` upwards are known, down to bit `low`: finds the digits of the
/// last entry in rank that is needed for the sum of units_of(id, logit) over it and all before it to reach the units
/// wanted; the last of all where it does not.
template <typename Entries, typename UnitsOf>
__device__ selection select(const Entries& entries, UnitsOf units_at, selection so_far, int high, int low,
                            workspace& work) {
  constexpr int digit = 8;
  constexpr int digits = 1 << digit;
  for (int shift = high - digit; shift >= low; shift -= digit) {
    work.sums.clear(digits);
    entries.for_each([&](token id, float logit) {
      const rank_key rank = rank_of(id, logit);
      if (shift + digit < 64 && (rank ^ so_far.rank) >> (shift + digit) != 0) return;
      if (const std::uint32_t units = units_at(id, logit); units > 0)
        work.sums.add(static_cast<int>(rank >> shift) & (digits - 1), units);
    });
    __syncthreads();
    if (in_first_warp()) {
      const auto position = locate<std::uint64_t>(
          digits, [&](int i) { return work.sums.value(digits - 1 - i); },
          [&](std::uint64_t sum) { return sum >= so_far.rest; });
      if (threadIdx.x == 0) {
        const int chosen = digits - 1 - position.index;
        work.selected = so_far.rank | rank_key(chosen) << shift;
        work.found = work.sums.value(chosen);
        work.rest = min(so_far.rest - min(position.prefix, so_far.rest), work.found);
      }
    }
    __syncthreads();
    so_far = {work.selected, work.rest, work.found};
  }
  return so_far;
}

constexpr int id_bits = 24;
constexpr rank_key above_ids = rank_key{0xff} << id_bits;  // what the rank keys of all ids have there

/// Entries from the best to the `count`-th in logit, and its equals.
template <typename Entries>
__device__ rank_key rank_of_top_k(const Entries& entries, std::uint32_t count, logit_key at_least, workspace& work) {
  const auto unit = [&](token, float logit) {
    return logit > -infinity && key_of(logit) >= at_least ? std::uint32_t{1} : 0;
  };
  return select(entries, unit, {0, count, 0}, 64, 32, work).rank;
}

/// The sums of the entries' weights by size, exact.
template <typename Entries>
__device__ void sum_by_weight(const Entries& entries, const weigher& weight_at, workspace& work) {
  work.sums.clear(max_bins);
  entries.for_each([&](token id, float logit) {
    if (const float weight = weight_at(id, logit); weight > 0) work.sums.add(bin_of(weight), units_of(weight));
  });
  __syncthreads();
}

/// In the order in which the bins of top_p are looked through, the largest weights first.
struct weight_sums {
  const exact_sums& sums;
  __device__ static int bin_at(int i) { return weight_bins - 1 - i; }
  __device__ double operator()(int i) const { return static_cast<double>(sums.value(bin_at(i))) * unit_of(bin_at(i)); }
};

/// The sum of all that sum_by_weight() found.
__device__ double total_by_weight(workspace& work) {
  if (in_first_warp()) {
    const auto result = locate<double>(weight_bins, weight_sums{work.sums}, [](double) { return false; });
    if (threadIdx.x == 0) work.sum = result.total;
  }
  __syncthreads();
  return work.sum;
}

/// The last entry in rank that top_p keeps: the weights before it do not reach `mass`, with its own they do. Needs
/// sum_by_weight(). False where all entries together do not reach it.
template <typename Entries>
__device__ bool find_top_p(const Entries& entries, double mass, const weigher& weight_at, rank_key& last,
                           workspace& work) {
  if (in_first_warp()) {
    const auto position = locate<double>(weight_bins, weight_sums{work.sums}, [&](double sum) { return sum >= mass; });
    if (threadIdx.x == 0) {
      const int bin = weight_sums::bin_at(position.index);
      const double wanted = ceil((mass - position.prefix) / unit_of(bin));
      work.found = work.sums.value(bin);
      work.bin = bin;
      work.sum = position.prefix + static_cast<double>(work.found) * unit_of(bin);
      work.rest = wanted < 1                                 ? 1
                  : wanted < static_cast<double>(work.found) ? static_cast<std::uint64_t>(wanted)
                                                             : work.found;
    }
  }
  __syncthreads();
  if (work.sum < mass) return false;
  const int bin = work.bin;
  const auto units = [&](token id, float logit) {
    const float weight = weight_at(id, logit);
    return weight > 0 && bin_of(weight) == bin ? units_of(weight) : std::uint32_t{0};
  };
  selection found = select(entries, units, {0, work.rest, work.found}, 64, 32, work);
  const auto entry_units = units_of(weight_of(logit_of(static_cast<logit_key>(found.rank >> 32)), weight_at.scale));
  if (found.found - found.rest >= entry_units) {  // not all of these equals
    found.rank |= above_ids;
    found = select(entries, units, found, id_bits, 0, work);
  }
  last = found.rank;
  return true;
}

// The list

/// Copies the entries with a key of `at_least` or more to the list, and calls also(id, logit) for all, and end(segment)
/// as row::for_each() does.
template <typename Also, typename End>
__device__ void fill_list(const row& entries, logit_key at_least, Also also, End end, workspace& work) {
  if (threadIdx.x == 0) work.listed = 0;
  __syncthreads();
  entries.for_each(
      [&](token id, float logit) {
        if (key_of(logit) >= at_least && logit > -infinity) {
          const int index = atomicAdd(&work.listed, 1);
          if (index < list_room) {
            work.ids[index] = id;
            work.logits[index] = logit;
          }
        }
        also(id, logit);
      },
      end);
  __syncthreads();
}

struct best_of_threads {
  const workspace& in;

  template <typename Visit>
  __device__ void for_each(Visit visit) const {
    visit(0, logit_of(in.thread_best[threadIdx.x]));
  }
};

/// A key that at least `count` entries of the row reach, and few more where the threads' largest ones lie evenly; 0,
/// which all reach, where these do not tell.
__device__ logit_key about_largest(std::uint32_t count, workspace& work) {
  if (count > threads) return 0;
  const auto unit = [](token, float) { return std::uint32_t{1}; };
  return static_cast<logit_key>(select(best_of_threads{work}, unit, {0, count, 0}, 64, 32, work).rank >> 32);
}

// The sample

/// Sums weights segment by segment, within row::for_each().
struct segment_sum {
  workspace& work;
  double sum = 0;

  __device__ void add(float weight) { sum += weight; }
  __device__ void end(int which) {
    for (int distance = warp_size / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(everyone, sum, distance);
    if (threadIdx.x % warp_size == 0) work.segment_sums[which] = sum;
    sum = 0;
  }
};

/// The first of `count` entries at which their running sum exceeds the part `u` of all. For one whole warp.
template <typename WeightAt>
__device__ place<double> locate_part(int count, WeightAt weight_at, double u) {
  const double total = locate<double>(count, weight_at, [](double) { return false; }).total;
  const double target = u * total;
  auto found = locate<double>(count, weight_at, [&](double sum) { return sum > target; });
  found.prefix = target - found.prefix;
  return found;
}

/// The sum of the segments' sums.
__device__ double total_of_segments(const row& entries, workspace& work) {
  if (in_first_warp()) {
    const auto result = locate<double>(
        entries.segments(), [&](int i) { return work.segment_sums[i]; }, [](double) { return false; });
    if (threadIdx.x == 0) work.total = result.total;
  }
  __syncthreads();
  return work.total;
}

__device__ token sample_from(const row& entries, const weigher& weight_at, double u, workspace& work) {
  segment_sum sums{work};
  entries.for_each([&](token id, float logit) { sums.add(weight_at(id, logit)); }, [&](int which) { sums.end(which); });
  __syncthreads();
  if (in_first_warp()) {
    const auto position = locate_part(
        entries.segments(), [&](int i) { return work.segment_sums[i]; }, u);
    if (threadIdx.x == 0) {
      work.bin = position.index;
      work.sum = position.prefix;
    }
  }
  __syncthreads();
  const int begin = work.bin * segment;
  if (threadIdx.x < segment) {
    const int id = begin + static_cast<int>(threadIdx.x);
    work.weights[threadIdx.x] = id < entries.vocabulary ? weight_at(id, entries.logits[id]) : 0;
  }
  __syncthreads();
  if (in_first_warp()) {
    const auto position = locate<double>(
        segment, [&](int i) { return double{work.weights[i]}; }, [&](double sum) { return sum > work.sum; });
    if (threadIdx.x == 0) work.chosen = begin + position.index;
  }
  __syncthreads();
  return work.chosen;
}

/// Those of the list that are kept, in order of ids: to `work.ordered` and `work.weights`. Returns how many.
__device__ int order_list(const weigher& weight_at, workspace& work) {
  const int self = static_cast<int>(threadIdx.x);
  const bool listed = self < work.listed;
  const token id = listed ? work.ids[self] : 0;
  const float weight = listed ? weight_at(id, work.logits[self]) : 0;
  if (self == 0) work.kept = 0;
  __syncthreads();
  if (weight > 0) {
    const int index = atomicAdd(&work.kept, 1);
    work.ids[index] = id;
    work.logits[index] = weight;
  }
  __syncthreads();
  const int kept = work.kept;
  if (self < kept) {
    int rank = 0;
    for (int i = 0; i < kept; ++i) rank += work.ids[i] < work.ids[self] ? 1 : 0;
    work.ordered[rank] = work.ids[self];
    work.weights[rank] = work.logits[self];
  }
  __syncthreads();
  return kept;
}

__device__ token sample_from_list(const weigher& weight_at, double u, workspace& work) {
  const int kept = order_list(weight_at, work);
  if (in_first_warp()) {
    const auto position = locate_part(
        kept, [&](int i) { return double{work.weights[i]}; }, u);
    if (threadIdx.x == 0) work.chosen = work.ordered[position.index];
  }
  __syncthreads();
  return work.chosen;
}

/// Narrows `weight_at` to what top_p keeps of it; needs sum_by_weight(). False where the entries do not reach the mass.
template <typename Entries>
__device__ bool cut_top_p(const Entries& entries, double mass, weigher& weight_at, workspace& work) {
  rank_key last = 0;
  if (!find_top_p(entries, mass, weight_at, last, work)) return false;
  weight_at.kept.rank = max(weight_at.kept.rank, last);
  return true;
}

template <typename Entries>
__device__ void apply_top_k(const Entries& entries, const sampling_row& params, logit_key at_least, weigher& weight_at,
                            workspace& work) {
  weight_at.kept.rank = rank_of_top_k(entries, params.top_k, at_least, work);
  if (params.top_p >= 1) return;
  sum_by_weight(entries, weight_at, work);
  cut_top_p(entries, params.top_p * total_by_weight(work), weight_at, work);
}

/// True where all that is left is in the list.
__device__ bool filter_top_k(const row& entries, const sampling_row& params, weigher& weight_at, workspace& work) {
  const logit_key at_least = about_largest(params.top_k, work);
  fill_list(
      entries, at_least, [](token, float) {}, [](int) {}, work);
  const bool fits = work.listed <= list_room;
  if (fits)
    apply_top_k(list{work}, params, at_least, weight_at, work);
  else
    apply_top_k(entries, params, at_least, weight_at, work);
  return fits;
}

/// The same.
__device__ bool filter_top_p(const row& entries, const sampling_row& params, weigher& weight_at, workspace& work) {
  const logit_key at_least = about_largest(listed_for_top_p, work);
  segment_sum sums{work};
  fill_list(
      entries, at_least, [&](token, float logit) { sums.add(weight_of(logit, weight_at.scale)); },
      [&](int which) { sums.end(which); }, work);
  const double mass = params.top_p * total_of_segments(entries, work);
  if (work.listed <= list_room) {
    sum_by_weight(list{work}, weight_at, work);
    if (cut_top_p(list{work}, mass, weight_at, work)) return true;
  }
  sum_by_weight(entries, weight_at, work);
  cut_top_p(entries, mass, weight_at, work);
  return false;
}

/// Leaves in `weight_at` what may be sampled; nothing where the choice is greedy.
__device__ token choose(const row& entries, const sampling_row& params, rank_key best, weigher& weight_at,
                        workspace& work) {
  if (params.greedy) return id_of(best);
  const float largest = logit_of(static_cast<logit_key>(best >> 32));
  weight_at = {{largest, params.inverse_temperature}, {}};
  bool listed = false;
  if (params.top_k > 0 && params.top_k < static_cast<std::uint32_t>(entries.vocabulary))
    listed = filter_top_k(entries, params, weight_at, work);
  else if (params.top_p < 1)
    listed = filter_top_p(entries, params, weight_at, work);
  weight_at.kept.min_p = params.min_p;
  const double u = uniform(params.key);
  return listed ? sample_from_list(weight_at, u, work) : sample_from(entries, weight_at, u, work);
}

// Log-probabilities

/// Of the entries that `weight_at` keeps, where `total` is the sum of their weights.
struct logprobs {
  weigher weight_at;
  double total;
  bool raw;  ///< rounded as row_logprobs does, else as kept_logprobs

  __device__ float logprob(float logit) const {
    const softmax_scale& scale = weight_at.scale;
    if (raw) return static_cast<float>(logit - (scale.largest + log(total)));
    return static_cast<float>((logit - scale.largest) * scale.inverse_temperature - log(total));
  }
};

/// Writes the `count` entries that are first in rank, of those with a weight; id -1 for the rest.
template <typename Entries>
__device__ void write_top_of(const Entries& entries, const logprobs& distribution, std::uint32_t count,
                             token_logprob* output, workspace& work) {
  const auto unit = [&](token id, float logit) {
    return logit > -infinity && (distribution.raw || distribution.weight_at(id, logit) > 0) ? std::uint32_t{1} : 0;
  };
  const rank_key last = select(entries, unit, {0, count, 0}, 64, 0, work).rank;
  if (threadIdx.x == 0) work.kept = 0;
  __syncthreads();
  entries.for_each([&](token id, float logit) {
    if (unit(id, logit) != 0 && rank_of(id, logit) >= last) work.top[atomicAdd(&work.kept, 1)] = rank_of(id, logit);
  });
  __syncthreads();
  if (threadIdx.x >= count) return;
  const int self = static_cast<int>(threadIdx.x), kept = work.kept;
  if (self >= kept) {
    output[self] = {-1, 0};
    return;
  }
  int rank = 0;
  for (int i = 0; i < kept; ++i) rank += work.top[i] > work.top[self] ? 1 : 0;
  output[rank] = {id_of(work.top[self]), distribution.logprob(logit_of(static_cast<logit_key>(work.top[self] >> 32)))};
}

/// The same, by way of the list; needs scan_row().
__device__ void write_top(const row& entries, const logprobs& distribution, std::uint32_t count, token_logprob* output,
                          workspace& work) {
  if (count == 0) return;
  const logit_key at_least = about_largest(count, work);
  fill_list(
      entries, at_least, [](token, float) {}, [](int) {}, work);
  if (work.listed <= list_room)
    write_top_of(list{work}, distribution, count, output, work);
  else
    write_top_of(entries, distribution, count, output, work);
  __syncthreads();
}

/// The sum of the weights that `weight_at` keeps.
__device__ double total_weight(const row& entries, const weigher& weight_at, workspace& work) {
  segment_sum sums{work};
  entries.for_each([&](token id, float logit) { sums.add(weight_at(id, logit)); }, [&](int which) { sums.end(which); });
  __syncthreads();
  const double total = total_of_segments(entries, work);
  __syncthreads();
  return total;
}

__device__ float largest_of(const scan& seen) { return logit_of(static_cast<logit_key>(seen.best >> 32)); }

__device__ sampling_status status_of(const scan& seen) {
  if (!seen.finite) return sampling_status::not_finite;
  return largest_of(seen) == -infinity ? sampling_status::nothing_left : sampling_status::ok;
}

/// Before a row is processed: what is most probable, and the logits that will be changed.
__device__ sampling_status report_raw(const device_samples& batch, const sampling_row& params, const row& entries,
                                      logprobs& raw, workspace& work) {
  for (auto i = threadIdx.x; i < params.biases.count; i += threads)
    if (const token id = batch.biases[params.biases.begin + i].id; inside(id, entries))
      batch.raw_biased[params.biases.begin + i] = entries.logits[id];
  for (auto i = threadIdx.x; i < params.counts.count; i += threads)
    if (const token id = batch.counts[params.counts.begin + i].id; inside(id, entries))
      batch.raw_counted[params.counts.begin + i] = entries.logits[id];
  if (const token last = params.unknown_last ? batch.last_tokens[params.slot] : -1;
      threadIdx.x == 0 && inside(last, entries))
    work.raw_last = entries.logits[last];
  const scan seen = scan_row(entries, work);
  if (status_of(seen) != sampling_status::ok) return status_of(seen);
  raw = {{{largest_of(seen)}, {}}, 0, true};
  raw.total = total_weight(entries, raw.weight_at, work);
  write_top(entries, raw, params.top.count, batch.top + params.top.begin, work);
  return sampling_status::ok;
}

/// A token's logit before the row was processed.
__device__ float raw_logit(const device_samples& batch, const sampling_row& params, const row& entries, token id,
                           workspace& work) {
  if (threadIdx.x == 0)
    work.raw = params.unknown_last && id == batch.last_tokens[params.slot] ? work.raw_last : entries.logits[id];
  __syncthreads();
  for (auto i = threadIdx.x; i < params.biases.count; i += threads)
    if (batch.biases[params.biases.begin + i].id == id) work.raw = batch.raw_biased[params.biases.begin + i];
  for (auto i = threadIdx.x; i < params.counts.count; i += threads)
    if (batch.counts[params.counts.begin + i].id == id) work.raw = batch.raw_counted[params.counts.begin + i];
  __syncthreads();
  return work.raw;
}

/// After the choice.
__device__ float report_processed(const device_samples& batch, const sampling_row& params, const row& entries,
                                  token chosen, weigher weight_at, rank_key best, workspace& work) {
  if (params.greedy) weight_at = {{largest_of({best, true})}, {best, 0}};
  const logprobs processed{weight_at, total_weight(entries, weight_at, work), false};
  write_top(entries, processed, params.top.count, batch.top + params.top.begin, work);
  return processed.logprob(entries.logits[chosen]);
}

__device__ void report_nothing(const device_samples& batch, const sampling_row& params) {
  for (auto i = threadIdx.x; i < params.top.count; i += threads) batch.top[params.top.begin + i] = {-1, 0};
}

// The whole

/// What a row returns, besides its most probable tokens.
struct outcome {
  sampling_status status = sampling_status::ok;
  token id = 0;
  float logprob = 0;
};

/// `raw` and `raw_status` are what report_raw() found.
__device__ outcome sample_row(const device_samples& batch, const sampling_row& params, const row& entries,
                              const logprobs& raw, sampling_status raw_status, workspace& work) {
  process(batch, params, entries, work);
  const scan seen = scan_row(entries, work);
  if (status_of(seen) != sampling_status::ok) return {status_of(seen)};
  if (raw_status != sampling_status::ok) return {raw_status};
  weigher weight_at;
  outcome result;
  result.id = choose(entries, params, seen.best, weight_at, work);
  if (params.logprobs == sampled_logprobs::raw)
    result.logprob = raw.logprob(raw_logit(batch, params, entries, result.id, work));
  if (params.logprobs == sampled_logprobs::processed)
    result.logprob = report_processed(batch, params, entries, result.id, weight_at, seen.best, work);
  return result;
}

/// The same for a token that is known.
__device__ outcome score_row(const sampling_row& params, const row& entries, const logprobs& raw,
                             sampling_status raw_status) {
  if (raw_status != sampling_status::ok) return {raw_status};
  return {raw_status, params.scored, raw.logprob(entries.logits[params.scored])};
}

__global__ void __launch_bounds__(threads) sample_rows(device_samples batch) {
  __shared__ workspace work;
  const sampling_row params = batch.sampling[blockIdx.x];
  const bool scores_only = params.scored >= 0;
  if (params.by_host || (params.slot < 0 && !scores_only)) return;
  const row entries{batch.logits + blockIdx.x * batch.stride, batch.vocabulary};
  logprobs raw{};
  auto raw_status = sampling_status::ok;
  if (params.logprobs == sampled_logprobs::raw) raw_status = report_raw(batch, params, entries, raw, work);
  const outcome result = scores_only ? score_row(params, entries, raw, raw_status)
                                     : sample_row(batch, params, entries, raw, raw_status, work);
  if (result.status != sampling_status::ok) report_nothing(batch, params);
  if (threadIdx.x != 0) return;
  batch.tokens[blockIdx.x] = result.id;
  batch.statuses[blockIdx.x] = result.status;
  if (!scores_only) batch.last_tokens[params.slot] = result.id;
  if (params.logprobs != sampled_logprobs::none) batch.logprobs[blockIdx.x] = result.logprob;
}

static_assert(std::is_trivially_copyable_v<device_samples> && std::is_trivially_copyable_v<sampling_row>);

}  // namespace

cudaError_t sample(const device_samples& batch, cudaStream_t stream) {
  if (batch.rows < 0 || batch.vocabulary < 1 || batch.vocabulary > max_sampled_vocabulary) return cudaErrorInvalidValue;
  if (batch.rows == 0) return cudaSuccess;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(batch.rows));
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, sample_rows, batch);
}

}  // namespace cogen::cuda
