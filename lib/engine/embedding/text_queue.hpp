#pragma once

#include "engine/async/background_work.hpp"
#include "network/model/text_encoder.hpp"

#include <cogen/error.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace cogen::embedding {

/// Some texts whose vectors are wanted. Members are called on the engine thread.
class text_request {
 public:
  virtual ~text_request() = default;

  /// False once it was cancelled or has failed.
  virtual bool is_wanted() const noexcept = 0;
  virtual const std::vector<encoder_text>& texts() const noexcept = 0;
  virtual void set_vector(std::size_t text, std::vector<float> vector) = 0;

  /// All vectors are set.
  virtual void finish() noexcept = 0;
  virtual void fail(const diagnostics& why) noexcept = 0;
};

/// Reads the texts of all requests in passes of a bounded number of tokens. Tenants take turns at being first in one,
/// and the requests of each are read in the order of their arrival. A longer text is a pass by itself.
class text_queue final : public detail::background_work {
 public:
  text_queue(std::shared_ptr<nn::text_encoder> encoder, int tokens_of_a_pass)
      : encoder_(std::move(encoder)), tokens_of_a_pass_(static_cast<std::size_t>(tokens_of_a_pass)) {}

  void add(std::uint64_t tenant, std::shared_ptr<text_request> request);

  bool run() noexcept override;
  void fail(const diagnostics& why) noexcept override;

 private:
  struct entry {
    std::shared_ptr<text_request> request;
    std::size_t next = 0;  // text
  };
  using tenant_map = std::map<std::uint64_t, std::deque<entry>>;

  /// A text's place.
  struct source {
    std::uint64_t tenant;
    std::shared_ptr<text_request> request;
    std::size_t text;
  };
  /// The texts of one pass.
  struct pass {
    std::vector<encoder_text> texts;
    std::vector<source> sources;  // [texts]
  };

  void drop_unwanted() noexcept;
  tenant_map::iterator next_in_turn(std::uint64_t last) noexcept;
  pass next_pass(tenant_map::iterator first) const;
  bool add_texts(tenant_map::const_iterator position, std::size_t& tokens, pass& target) const;
  void deliver(const pass& read, std::vector<std::vector<float>> vectors);
  void finish_first(std::uint64_t tenant) noexcept;

  std::shared_ptr<nn::text_encoder> encoder_;
  std::size_t tokens_of_a_pass_;
  tenant_map waiting_;      // of tenants that have any
  std::uint64_t last_ = 0;  // tenant that was first in a pass
};

}  // namespace cogen::embedding
