#include "network/kernels/attention_body.hpp"
#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/linear_attention_body.hpp"
#include "network/kernels/linear_body.hpp"
#include "network/kernels/recurrent_body.hpp"
#include "network/kernels/rope_body.hpp"

// The table of the instruction set for which the including file is compiled, under the name COGEN_KERNEL_TABLE.
namespace cogen::kernels {

const kernel_table COGEN_KERNEL_TABLE = {
    .linear = linear_tile,
    .rms_norm = rms_norm_row,
    .layer_norm = layer_norm_row,
    .activate = activate_row,
    .rope_append = rope_append_token,
    .attention = attention_tile,
    .attention_partials = attention_partials,
    .merge_attention_partials = merge_attention_partials,
    .causal_convolution = causal_convolution_channels,
    .selective_scan = selective_scan_channels,
    .linear_attention = attend_linearly,
    .head_decay = head_decay_token,
    .time_mix = time_mix_channels,
};

}  // namespace cogen::kernels
