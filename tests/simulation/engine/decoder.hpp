#pragma once

#include "simulation/engine/client.hpp"
#include "simulation/engine/readings.hpp"

#include <filesystem>

namespace cogen::engine_simulation {

/// A sequence as it ought to be.
struct held_sequence {
  std::vector<token> tokens;
  std::vector<token> encoder_input;
  int max_sequence_length = 0;
  token_history history;
  random_stream branch;  ///< of the samples with a seed; the seed itself comes with each decode
  std::uint32_t truncations = 0;

  void give(std::span<const token> fed);
  void truncate(std::size_t length);
  held_sequence fork();

  /// What a decode would sample, were it fed these tokens; nothing where there is nothing to sample from.
  std::optional<token> sampled(const language& spoken, const std::vector<token>& fed,
                               const sampling_params& params) const;
};

/// A loop over one sequence: feeds, decodes, cuts and forks it; the forks go on in coroutines of their own.
class decoder final : public client {
 public:
  /// An empty sequence, which begins as draw_beginning() says.
  decoder(world& stage, std::string name, net::any_io_executor where, random& chance);
  /// A fork.
  decoder(const decoder& parent, sequence handle, held_sequence held);

  void interfere(random& chance) override;
  void meet(misfortune event) override;
  void check() const override;
  std::string status() const override;

 protected:
  net::awaitable<void> live() override;

 private:
  net::awaitable<void> act(random& chance);
  net::awaitable<void> forward(random& chance);
  net::awaitable<void> decode(random& chance);
  void fork(random& chance);
  void truncate(random& chance);
  net::awaitable<void> suspend();
  net::awaitable<void> save();
  net::awaitable<void> open();
  void start_unseen(const auto& start);
  void suspend_unseen();
  void save_unseen();
  void open_unseen();
  void destroy();
  void interrupt(sequence_event event);
  void visit(sequence_event event);
  sequence_at current_state() const;
  std::vector<token> draw_fed(random& chance, int most) const;
  open_options opening() const;
  void begin(std::vector<token> fed);
  void hear_logits(const logits& received, logits_of which);
  void hear_failure(error_code code, bool nothing_to_sample);
  error_code refusal(int sampled) const;

  const affiliation affiliation_;
  const std::vector<token> beginning_;
  held_sequence held_;
  std::optional<sequence> sequence_;
  std::vector<token> fed_;  // by the pending operation
  std::uint64_t begun_ = 0;
  std::optional<sequence_at> busy_with_;       // by the pending operation, which feeds nothing
  std::optional<std::filesystem::path> file_;  // where it was saved
  held_sequence saved_;
  bool opened_ = false;  // it has not gone on since
  int left_ = 0;         // operations that it will begin
};

}  // namespace cogen::engine_simulation
