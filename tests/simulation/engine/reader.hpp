#pragma once

#include "simulation/engine/client.hpp"
#include "simulation/engine/readings.hpp"

namespace cogen::engine_simulation {

/// Reads one stream: promptly, slowly, whole, in the end not at all. May watch how its prompt is read.
class reader final : public client {
 public:
  /// `dawdles`: how often it does nothing with its turn, against 96 times that it does something.
  reader(world& stage, std::string name, net::any_io_executor where, reading planned, int dawdles);

  void interfere(random& chance) override;
  void meet(misfortune event) override;
  void check() const override;
  std::string status() const override;

 protected:
  net::awaitable<void> live() override;

 private:
  net::awaitable<void> act(random& chance);
  net::awaitable<void> next(random& chance, std::optional<clock::duration> limit);
  net::awaitable<void> complete(random& chance);
  net::awaitable<void> watch();
  void stop();
  void destroy();
  void second();
  void visit(stream_event event);
  stream_at current_state() const;
  void hear(error_code code, const std::optional<piece>& received);
  void hear(error_code code, const completion& received);
  void hear(error_code code, const std::optional<prompt_progress>& received);
  void take(std::span<const sampled_token> tokens);
  void hear_end(finish_reason reason, const usage& used);
  void check_cached(int tokens) const;
  void hear_failure(error_code code);
  bool is_excused(error_code code) const;
  bool over() const { return !stream_ || heard_end_; }

  const reading reading_;
  std::optional<token_stream> stream_;
  std::vector<token> read_;
  std::optional<prompt_progress> progress_;  // the last that it heard
  std::optional<clock::time_point> limit_;
  const int dawdles_;
  const std::uint64_t born_;
  stream_at waited_at_ = stream_at::queued;  // when the last wait with a limit began
  int seconds_ = 0;                          // second operations that are pending
  bool beside_second_ = false;               // when the own operation began
  bool gathered_ = false;
  bool stop_asked_ = false;
  bool heard_end_ = false;
};

}  // namespace cogen::engine_simulation
