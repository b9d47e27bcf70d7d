#include "engine/runner/step_message.hpp"

#include <memory>

namespace cogen::detail {

namespace {

/// Passes the plain parts of a step, in one order for writing and reading.
template <class Step, class Pass>
void pass_plain(Step& step, const Pass& pass) {
  pass(step.number), pass(step.drops), pass(step.clears), pass(step.truncations), pass(step.releases);
  pass(step.forks), pass(step.dropped_checkpoints), pass(step.checkpoints);
  pass(step.swap_outs), pass(step.swap_ins), pass(step.tokens);
}

template <class Row, class Pass>
void pass_plain_row(Row& row, const Pass& pass) {
  pass(row.sequence), pass(row.slot), pass(row.count), pass(row.wanted), pass(row.chained), pass(row.first);
  pass(row.scored), pass(row.drafts), pass(row.first_sample), pass(row.position), pass(row.next);
}

}  // namespace

void write_step(const scheduler::step& step, message_writer& writer) {
  const auto add = [&](const auto& value) { writer.add(value); };
  pass_plain(step, add);
  writer.add(static_cast<std::uint64_t>(step.rows.size()));
  for (const auto& row : step.rows) {
    pass_plain_row(row, add);
    writer.add(row.encoder_input != nullptr);
    if (row.encoder_input) writer.add(*row.encoder_input);
  }
}

void read_step(message_reader& reader, scheduler::step& step) {
  const auto read = [&](auto& value) { reader.read(value); };
  step.clear();
  pass_plain(step, read);
  const auto rows = reader.read<std::uint64_t>();
  for (std::uint64_t index = 0; index < rows; ++index) {
    auto& row = step.rows.emplace_back();
    pass_plain_row(row, read);
    if (reader.read<bool>())
      row.encoder_input =
          std::make_shared<const std::vector<scheduler::token>>(reader.read<std::vector<scheduler::token>>());
    if (row.wanted == scheduler::output::sample)
      step.sampled.resize(step.sampled.size() + 1 + static_cast<std::size_t>(row.drafts), -1);
  }
}

}  // namespace cogen::detail
