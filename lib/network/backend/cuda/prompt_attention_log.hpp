#pragma once

#include "network/backend/backend.hpp"

#include <mutex>
#include <string>
#include <utility>

namespace cogen::device {

/// What the operators of a backend write down for backend::prompt_attention(). Thread-safe.
class prompt_attention_log {
 public:
  void add_by_cudnn() {
    const std::lock_guard lock(mutex_);
    ++counts_.by_cudnn;
  }

  void add_by_flash_attention() {
    const std::lock_guard lock(mutex_);
    ++counts_.by_flash_attention;
  }

  void add_refusal(std::string why) {
    const std::lock_guard lock(mutex_);
    counts_.refusals.push_back(std::move(why));
  }

  prompt_attention_counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  prompt_attention_counts counts_;
};

}  // namespace cogen::device
