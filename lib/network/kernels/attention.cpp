#include "network/kernels/attention.hpp"

#include "network/kernels/kernel_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace cogen::kernels {
namespace {

constexpr std::int64_t spans_worth_a_task = 2;
constexpr std::int64_t tasks_of_a_thread = 4;  // so that all threads end at about the same time

// Memory that one thread keeps from call to call.
class scratch {
 public:
  float* floats(std::int64_t count) {
    if (count > size_) {
      size_ = 0;
      memory_.reset(static_cast<float*>(::operator new[](static_cast<std::size_t>(count) * sizeof(float), alignment)));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct release {
    void operator()(float* memory) const { ::operator delete[](memory, alignment); }
  };
  std::unique_ptr<float, release> memory_;
  std::int64_t size_ = 0;
};

// A job whose partial results begin some floats into memory that is taken when all jobs are known.
struct split_job {
  attention_job job;
  std::int64_t partials_at;
};

struct plan {
  std::vector<attention_job> single;  // of one query, not yet cut
  std::vector<attention_job> whole;   // each writes its own outputs
  std::vector<split_job> pieces;      // each writes the partial results of some spans
  std::vector<split_job> mergers;     // each reads those of all its pieces and writes outputs
  std::int64_t partials = 0;          // floats
};

thread_local scratch working_memory;
thread_local scratch partial_memory;
thread_local plan reused_plan;

void check(const token_rows& row, const attention_operands& operands) {
  const int kv_heads = row.cache.kv_heads;
  if (kv_heads <= 0 || operands.heads <= 0 || operands.heads % kv_heads != 0)
    throw std::invalid_argument(
        fmt::format("{} query heads cannot share {} key heads evenly", operands.heads, kv_heads));
  if (row.cache.head_dim <= 0 || row.cache.head_dim > max_head_dim)
    throw std::invalid_argument(
        fmt::format("attention heads of {} dimensions; 1 to {} are possible", row.cache.head_dim, max_head_dim));
  if (row.cache.span.sinks > 0 && operands.sink_q.data == nullptr)
    throw std::invalid_argument(
        fmt::format("a cache with {} sinks needs queries rotated for them", row.cache.span.sinks));
}

// Cuts the step into jobs: each some queries of the heads that share a key head and, where there is one query and many
// keys, some spans.
class planner {
 public:
  planner(const attention_operands& operands, plan& target) : operands_(operands), plan_(target) {
    plan_.single.clear();
    plan_.whole.clear();
    plan_.pieces.clear();
    plan_.mergers.clear();
    plan_.partials = 0;
  }

  // The last queries, which see most, first: threads end closer together.
  void add(const token_rows& row) {
    check(row, operands_);
    const int group = operands_.heads / row.cache.kv_heads;
    const int together = std::min(group, max_attention_rows);
    const std::int64_t queries = max_attention_rows / together;
    for (std::int64_t first = (row.count - 1) / queries * queries; first >= 0; first -= queries)
      for (int kv_head = 0; kv_head < row.cache.kv_heads; ++kv_head)
        for (int head = 0; head < group; head += together) {
          attention_job job = job_of(row, first, kv_head * group + head);
          job.kv_head = kv_head;
          job.heads = std::min(together, group - head);
          job.queries = std::min(queries, row.count - first);
          place(job);
        }
  }

  // To be called when all are added. A task is as many spans as leave each thread some tasks, for each begins with
  // memory that nothing has fetched.
  void cut_for(int threads) {
    std::int64_t spans = 0;
    for (const attention_job& job : plan_.single) spans += spans_of(job);
    const auto at_once = std::max(spans_worth_a_task, spans / (threads * tasks_of_a_thread));
    for (const attention_job& job : plan_.single)
      if (threads > 1 && spans_of(job) > at_once)
        split(job, divided_up(spans_of(job), at_once));
      else
        plan_.whole.push_back(job);
  }

 private:
  attention_job job_of(const token_rows& row, std::int64_t query, int head) const {
    attention_job job{};
    const std::int64_t column = static_cast<std::int64_t>(head) * row.cache.head_dim;
    job.cache = &row.cache;
    job.first_position = row.offset + query;
    job.scale = operands_.scale;
    job.softcap = operands_.softcap;
    job.slopes = operands_.slopes ? operands_.slopes + head : nullptr;
    job.sink_logits = operands_.sink_logits ? operands_.sink_logits + head : nullptr;
    job.max_distance = operands_.max_distance;
    if (operands_.distance_biases)
      job.distance_biases = operands_.distance_biases + head * (2 * operands_.max_distance + 1);
    job.q = operands_.q.rest(row.first + query, column);
    if (operands_.sink_q.data != nullptr) job.sink_q = operands_.sink_q.rest(row.first + query, column);
    job.out = operands_.out.rest(row.first + query, column);
    return job;
  }

  void place(attention_job& job) {
    const cache::attention_span& span = job.cache->span;
    const auto position = static_cast<int>(job.first_position);
    job.end = end_seen(job);
    job.first_span = cache::first_seen(span, position) / attention_span;
    job.last_span = divided_up(job.end, attention_span);
    (job.queries == 1 ? plan_.single : plan_.whole).push_back(job);
  }

  static std::int64_t end_seen(const attention_job& job) {
    const cache::kv_view& view = *job.cache;
    const std::int64_t queries_end = job.first_position + job.queries;
    if (view.span.causal) return queries_end;
    std::int64_t end = view.ranges == 0 ? 0 : view.range[view.ranges - 1].end;
    if (view.span.window > 0) end = std::min(end, queries_end - 1 + view.span.window);
    return view.span.chunk > 0 ? std::min(end, rounded_up(queries_end, view.span.chunk)) : end;
  }

  static std::int64_t spans_of(const attention_job& job) { return job.last_span - job.first_span; }

  void split(const attention_job& job, std::int64_t count) {
    plan_.mergers.push_back({job, plan_.partials});
    const std::int64_t record = partial_floats(job.heads, job.cache->head_dim);
    const auto begin_of = [&](std::int64_t piece) { return job.first_span + spans_of(job) * piece / count; };
    for (std::int64_t number = 0; number < count; ++number) {
      split_job& piece = plan_.pieces.emplace_back(job, plan_.partials);
      piece.job.first_span = begin_of(number);
      piece.job.last_span = begin_of(number + 1);
      plan_.partials += spans_of(piece.job) * record;
    }
  }

  const attention_operands& operands_;
  plan& plan_;
};

// Calls attend(job) with this thread's scratch.
template <class Attend>
void with_scratch(attention_job job, instruction_set set, Attend attend) {
  job.scratch = working_memory.floats(attention_scratch_floats(job.cache->head_dim));
  job.integers = &int8_kernels_of(set);
  attend(job);
}

}  // namespace

void attention(const execution& run, std::span<const token_rows> rows, const attention_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  plan& jobs = reused_plan;
  planner planned(operands, jobs);
  for (const token_rows& row : rows) planned.add(row);
  planned.cut_for(run.workers->threads());
  float* partials = partial_memory.floats(jobs.partials);
  const auto whole = static_cast<std::int64_t>(jobs.whole.size());
  const auto pieces = static_cast<std::int64_t>(jobs.pieces.size());
  const auto with_partials = [&](const split_job& split) {
    attention_job job = split.job;
    job.partials = partials + split.partials_at;
    return job;
  };
  run.workers->parallel(pieces + whole, [&](std::int64_t task, int) {
    if (task < pieces)
      with_scratch(with_partials(jobs.pieces[static_cast<std::size_t>(task)]), run.set, kernels.attention_partials);
    else
      with_scratch(jobs.whole[static_cast<std::size_t>(task - pieces)], run.set, kernels.attention);
  });
  run.workers->parallel(static_cast<std::int64_t>(jobs.mergers.size()), [&](std::int64_t task, int) {
    with_scratch(with_partials(jobs.mergers[static_cast<std::size_t>(task)]), run.set,
                 kernels.merge_attention_partials);
  });
}

}  // namespace cogen::kernels
