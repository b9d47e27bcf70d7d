#pragma once

#include "async/side_work.hpp"
#include "nn/text_encoder.hpp"

#include <cogen/error.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <deque>
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

/// Reads the texts of all requests, in the order of their arrival, in passes of a bounded number of tokens. A longer
/// text is a pass by itself.
class text_queue final : public async::side_work {
 public:
  text_queue(std::shared_ptr<nn::text_encoder> encoder, int tokens_of_a_pass)
      : encoder_(std::move(encoder)), tokens_of_a_pass_(static_cast<std::size_t>(tokens_of_a_pass)) {}

  void add(std::shared_ptr<text_request> request) { waiting_.push_back({std::move(request)}); }

  bool run() noexcept override;
  void fail(const diagnostics& why) noexcept override;

 private:
  struct entry {
    std::shared_ptr<text_request> request;
    std::size_t next = 0;  // text
  };
  /// The texts of one pass.
  struct pass {
    std::vector<encoder_text> texts;
    std::vector<entry> from;  // [texts]
  };

  void drop_unwanted() noexcept;
  pass next_pass();
  void deliver(const pass& read, std::vector<std::vector<float>> vectors);
  void finish_first();

  std::shared_ptr<nn::text_encoder> encoder_;
  std::size_t tokens_of_a_pass_;
  std::deque<entry> waiting_;
};

}  // namespace cogen::embedding
