#pragma once

#include "network/backend/cuda/prompt_pages.hpp"

#include <cstdint>
#include <cudnn_frontend.h>
#include <memory>
#include <string>

namespace cogen::device {

/// The tensors of such a graph, as their unique ids.
enum class prompt_tensor : std::int64_t {
  queries = 1,    // first token's
  keys,           // first page's
  values,         // the same
  out,            // first token's
  query_offsets,  // kernels::cuda::prompt_tables, like those below
  out_offsets,
  query_lengths,
  key_lengths,
  page_table,
  value_page_table,  // the same numbers
};

/// Plans that need more are not taken: runner_bytes() counts on it.
inline constexpr std::int64_t max_workspace_bytes = std::int64_t{32} << 20;

/// Loads cuDNN before its first use. Returns why it cannot be; empty: it is there.
const std::string& load_cudnn();

/// Causal attention of prompts of different lengths, whose queries lie one after the other, to keys and values in
/// pages. Query number i of a prompt is that of token `key_length - query_length + i` of its slot. sm_version is the
/// device's: 90 of Hopper.
std::shared_ptr<cudnn_frontend::graph::Graph> make_prompt_graph(const prompt_plan_shape& shape, int sm_version);

}  // namespace cogen::device
