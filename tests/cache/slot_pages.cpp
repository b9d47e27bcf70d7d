// Which pages the slots of a device cache have, against slots that hold copies of their own.
#include "slot_pages.hpp"

#include "../repetitions.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace cogen::cache {

namespace {

constexpr int planes = 3, slots = 4, slot_blocks = 6;

/// Pages that hold a number each. Notes what must not happen.
class numbered_memory final : public virtual_memory {
 public:
  struct page {
    explicit page(int& count) : alive(count) { ++alive; }
    ~page() { --alive; }
    page(const page&) = delete;
    page& operator=(const page&) = delete;

    int& alive;
    mutable int number = 0;
  };

  /// Called before pages are allocated or mapped; throws in their place.
  std::function<void()> hook = [] {};

  explicit numbered_memory(std::function<void()> fails, int& pages, bool& wrong)
      : hook(std::move(fails)), pages_(pages), wrong_(wrong) {}
  ~numbered_memory() override {
    wrong_ |= std::ranges::any_of(mapped_, [](const auto& page) { return page != nullptr; });
  }

  std::int64_t page_bytes() const override { return 1; }
  at::Tensor bytes() const override { return {}; }

  memory_page allocate() override {
    const std::lock_guard lock(mutex_);
    hook();
    return std::make_shared<const page>(pages_);
  }

  void map(std::int64_t first, std::span<const memory_page> pages) override {
    const std::lock_guard lock(mutex_);
    hook();
    for (const auto& each : pages) {
      wrong_ |= !each || page_at(first) != nullptr;
      page_at(first++) = each;
    }
  }

  void unmap(std::int64_t first, std::int64_t count) noexcept override {
    const std::lock_guard lock(mutex_);
    for (; count > 0; --count) {
      wrong_ |= page_at(first) == nullptr;
      page_at(first++) = nullptr;
    }
  }

  /// What a slot has in a block of a plane.
  int& number(int plane, int slot, int block) {
    return static_cast<const page*>(page_at((std::int64_t{plane} * slots + slot) * slot_blocks + block).get())->number;
  }

 private:
  memory_page& page_at(std::int64_t page) { return mapped_[static_cast<std::size_t>(page)]; }

  std::mutex mutex_;
  std::array<memory_page, static_cast<std::size_t>(planes) * slots * slot_blocks> mapped_;
  int& pages_;
  bool& wrong_;
};

/// Slots of numbers, one for each block, in shared pages and as plain copies.
class both_kinds {
 public:
  explicit both_kinds(
      std::int64_t limit, std::function<void()> fails = [] {})
      : limit_(limit) {
    auto memory = std::make_unique<numbered_memory>(std::move(fails), pages_alive_, wrong_);
    memory_ = memory.get();
    pages_.emplace(std::move(memory), slot_pages::shape{planes, slots, slot_blocks}, limit, [this] { ++waits_; });
  }
  ~both_kinds() {
    pages_.reset();
    BOOST_TEST(!wrong_);
    BOOST_TEST(pages_alive_ == 0);
  }
  both_kinds(const both_kinds&) = delete;
  both_kinds& operator=(const both_kinds&) = delete;

  int length(int slot) const { return static_cast<int>(numbers_of(slot).size()); }

  /// Blocks that plain copies would need to fit, counting shared ones once.
  void grow(int slot, int count) {
    pages_->reserve(slot, length(slot) + count);
    for (; count > 0; --count) {
      static_cast<void>(pages_->make_writable(slot, length(slot)));
      write(slot, length(slot), ++last_);
      numbers_of(slot).push_back(last_);
    }
  }

  /// Writes to a block that the slot holds.
  void rewrite(int slot, int block) {
    const auto other = pages_->make_writable(slot, block);
    if (other) BOOST_TEST(seen(*other, block) == numbers_of(slot)[static_cast<std::size_t>(block)]);
    write(slot, block, ++last_);
    numbers_of(slot)[static_cast<std::size_t>(block)] = last_;
  }

  void cut(int slot, int count) {
    pages_->release(slot, count);
    numbers_of(slot).resize(static_cast<std::size_t>(count));
  }

  void share(int source, int target, int count) {
    cut(target, 0);
    pages_->share(source, target, count);
    numbers_of(target).assign(numbers_of(source).begin(), numbers_of(source).begin() + count);
  }

  void trim() { pages_->trim(); }
  void map_ahead(int slot, int count) { pages_->map_ahead(slot, count); }
  void wait_ahead() { pages_->wait_ahead(); }

  /// After an operation on the slot was refused.
  void refused(int slot) { cut(slot, std::min(length(slot), pages_->mapped(slot))); }

  void check() {
    pages_->wait_ahead();
    BOOST_TEST(!wrong_);
    BOOST_TEST(pages_->blocks() <= limit_);
    BOOST_TEST(pages_alive_ == planes * pages_->blocks());
    for (int slot = 0; slot < slots; ++slot) {
      BOOST_TEST(pages_->mapped(slot) >= length(slot));
      for (int block = 0; block < length(slot); ++block)
        BOOST_TEST(seen(slot, block) == numbers_of(slot)[static_cast<std::size_t>(block)]);
    }
  }

  std::int64_t blocks() const { return pages_->blocks(); }
  int mapped(int slot) const { return pages_->mapped(slot); }
  int waits() const { return waits_; }

 private:
  std::vector<int>& numbers_of(int slot) { return held_[static_cast<std::size_t>(slot)]; }
  const std::vector<int>& numbers_of(int slot) const { return held_[static_cast<std::size_t>(slot)]; }

  void write(int slot, int block, int number) {
    for (int plane = 0; plane < planes; ++plane) memory_->number(plane, slot, block) = number;
  }

  int seen(int slot, int block) {
    for (int plane = 1; plane < planes; ++plane)
      BOOST_TEST(memory_->number(plane, slot, block) == memory_->number(0, slot, block));
    return memory_->number(0, slot, block);
  }

  const std::int64_t limit_;
  int pages_alive_ = 0, waits_ = 0, last_ = 0;
  bool wrong_ = false;
  numbered_memory* memory_ = nullptr;
  std::optional<slot_pages> pages_;
  std::array<std::vector<int>, slots> held_;
};

/// A random operation. Slots need no more blocks together than fit without sharing.
class history {
 public:
  history(both_kinds& kinds, int most, unsigned seed) : kinds_(kinds), most_(most), random_(seed) {}

  /// The slot that it changes.
  int step() {
    const int slot = below(slots), other = below(slots), length = kinds_.length(slot);
    changed_ = slot;
    switch (below(7)) {
      case 0:
        kinds_.cut(slot, below(length + 1));
        break;
      case 1:
        changed_ = other;
        if (slot != other && room() + kinds_.length(other) >= length) kinds_.share(slot, other, below(length + 1));
        break;
      case 2:
        if (length > 0) kinds_.rewrite(slot, below(length));
        break;
      case 3:
        kinds_.map_ahead(slot, length + 1);
        break;
      case 4:
        kinds_.trim();
        break;
      default:
        if (const int most = std::min(room(), slot_blocks - length); most > 0) kinds_.grow(slot, 1 + below(most));
    }
    return changed_;
  }

  int changed() const { return changed_; }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  int room() const {
    int left = most_;
    for (int slot = 0; slot < slots; ++slot) left -= kinds_.length(slot);
    return left;
  }

  both_kinds& kinds_;
  const int most_;
  std::mt19937 random_;
  int changed_ = 0;
};

BOOST_AUTO_TEST_SUITE(slot_page_tables)

BOOST_AUTO_TEST_CASE(any_history_leaves_what_copies_would_hold) {
  for (unsigned seed = 0; seed < 20 * cogen::test::repetitions(10); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      both_kinds slots_of(10);
      history any(slots_of, 10, seed);
      for (int turn = 0; turn < 200; ++turn) {
        any.step();
        slots_of.check();
      }
    }
  }
}

// Whatever call is refused, only the slot that wanted it lacks something, and all goes on.
BOOST_AUTO_TEST_CASE(memory_is_refused_at_every_call) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    bool failed = true;
    for (int failing = 1; failed; ++failing) {
      BOOST_TEST_CONTEXT("seed " << seed << ", call " << failing) {
        int calls = 0;
        both_kinds slots_of(10, [&] {
          if (++calls == failing) throw std::bad_alloc();
        });
        history any(slots_of, 10, seed);
        for (int turn = 0; turn < 60; ++turn) {
          try {
            any.step();
          } catch (const std::bad_alloc&) {
            slots_of.refused(any.changed());
          }
          slots_of.check();
        }
        failed = calls >= failing;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_shared_prefix_takes_its_memory_once) {
  both_kinds slots_of(100);
  slots_of.grow(0, 5);
  for (int slot = 1; slot < slots; ++slot) slots_of.share(0, slot, 5);
  BOOST_TEST(slots_of.blocks() == 5);
  slots_of.grow(2, 1);
  BOOST_TEST(slots_of.blocks() == 6);
  slots_of.rewrite(1, 4);
  BOOST_TEST(slots_of.blocks() == 7);
  slots_of.check();
}

BOOST_AUTO_TEST_CASE(a_slot_goes_on_in_the_memory_it_had) {
  both_kinds slots_of(100);
  slots_of.grow(0, 5);
  slots_of.cut(0, 0);
  slots_of.grow(0, 4);
  BOOST_TEST(slots_of.blocks() == 5);
  BOOST_TEST(slots_of.waits() == 0);
}

BOOST_AUTO_TEST_CASE(memory_that_no_slot_needs_goes_back) {
  both_kinds slots_of(100);
  slots_of.grow(0, 5);
  slots_of.grow(1, 3);
  slots_of.share(0, 2, 4);
  slots_of.cut(0, 2);
  slots_of.cut(1, 0);
  slots_of.map_ahead(3, 1);
  slots_of.wait_ahead();
  BOOST_TEST(slots_of.blocks() == 9);
  slots_of.trim();
  BOOST_TEST(slots_of.blocks() == 4);  // slot 2 has what it shared
  BOOST_TEST(slots_of.waits() > 0);
  slots_of.check();
  slots_of.grow(0, 3);
  slots_of.check();
}

BOOST_AUTO_TEST_CASE(memory_goes_where_it_is_needed) {
  both_kinds slots_of(6);
  slots_of.grow(0, 5);
  slots_of.cut(0, 2);
  slots_of.grow(1, 4);
  BOOST_TEST(slots_of.blocks() == 6);
  BOOST_TEST(slots_of.waits() > 0);
  slots_of.check();
  BOOST_CHECK_THROW(slots_of.grow(1, 1), std::bad_alloc);
  BOOST_TEST(slots_of.length(1) == 4);
  slots_of.check();
}

BOOST_AUTO_TEST_CASE(blocks_come_ahead_while_memory_is_unused) {
  both_kinds slots_of(3);
  slots_of.map_ahead(0, 2);
  slots_of.map_ahead(1, 2);
  slots_of.wait_ahead();
  BOOST_TEST(slots_of.blocks() == 3);
  BOOST_TEST(slots_of.mapped(0) == 2);
  BOOST_TEST(slots_of.mapped(1) == 1);
  slots_of.grow(2, 3);
  BOOST_TEST(slots_of.blocks() == 3);
  slots_of.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::cache
