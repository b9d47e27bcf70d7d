#pragma once

#include "formats/text/jinja/value.hpp"

#include <cogen/text/chat_template.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::text::jinja {

/// The variables of one block, and those of the blocks around it.
class scope {
 public:
  explicit scope(std::shared_ptr<scope> outer) : outer_(std::move(outer)) {}

  const std::shared_ptr<scope>& outer() const noexcept { return outer_; }
  bool is_kept() const noexcept { return is_kept_; }
  void keep() noexcept { is_kept_ = true; }
  void set(std::string_view name, value object) { variables_.insert_or_assign(std::string(name), std::move(object)); }

  /// nullptr if this block alone has no such variable.
  const value* find(std::string_view name) const {
    auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }

 private:
  std::shared_ptr<scope> outer_;
  std::map<std::string, value, std::less<>> variables_;
  bool is_kept_ = false;
};

/// One rendering: the variables, the text so far, and what of the limits is left.
class renderer {
 public:
  renderer(const template_limits& limits, std::chrono::system_clock::time_point now)
      : limits_(limits), now_(now), variables_(std::make_shared<scope>(nullptr)) {}

  /// One step at this line, one level deeper during the result's lifetime. Throws template_error at a limit.
  class level {
   public:
    level(const level&) = delete;
    ~level() { --run_->depth_; }

   private:
    friend class renderer;
    explicit level(renderer& run) : run_(&run) {}
    renderer* run_;
  };
  level enter(std::size_t line);
  level enter_here() { return enter(line_); }

  /// Another block of variables during its lifetime, inside the present one or the given one.
  class block {
   public:
    explicit block(renderer& run) : block(run, run.variables_) {}
    block(renderer& run, std::shared_ptr<scope> outer) : run_(&run), previous_(std::move(run.variables_)) {
      run.variables_ = std::make_shared<scope>(std::move(outer));
    }
    block(const block&) = delete;
    ~block() { run_->variables_ = std::move(previous_); }

   private:
    renderer* run_;
    std::shared_ptr<scope> previous_;
  };

  /// Collects what is written during its lifetime.
  class capture {
   public:
    explicit capture(renderer& run) : run_(&run), previous_(run.output_) { run.output_ = &written_; }
    capture(const capture&) = delete;
    ~capture() { run_->output_ = previous_; }
    traced_text take() { return std::move(written_); }

   private:
    renderer* run_;
    traced_text* previous_;
    traced_text written_;
  };

  const std::shared_ptr<scope>& variables() const noexcept { return variables_; }
  std::chrono::system_clock::time_point now() const noexcept { return now_; }

  void write(const traced_text& text);
  void write(std::string_view text);

  /// Accounts for memory that is about to be used. Throws template_error at the limit.
  void charge(std::size_t bytes);

  /// Accounts for bytes that an operation is about to look at. Throws template_error at the limit.
  void look_at(std::size_t bytes);
  void look_at(const value& text);  ///< or nothing, if it is another kind of value
  void visit(std::size_t values) { look_at(values * sizeof(value)); }

  /// The variable of that name; nullptr where there is none.
  const value* find(std::string_view name);
  void set(std::string_view name, value object);

  name_space* make_namespace();
  cycler* make_cycler(std::vector<value> items);
  joiner* make_joiner(traced_text separator);

  /// Keeps the present variables until the rendering ends, for a macro that refers to them.
  const std::shared_ptr<scope>& kept_variables();

  /// A number for a loop that begins, and the values that it last compared with loop.changed().
  std::size_t begin_loop() noexcept { return ++loops_; }
  value& last_changed(std::size_t loop) { return changed_[loop]; }
  value make_list(std::vector<value> items, bool is_tuple = false);
  shared_list share_list(std::vector<value> items) { return make_list(std::move(items)).shared_items(); }
  value make_text(std::string bytes, bool trusted);
  value make_text(traced_text text);

  /// Containers must stay within the nesting that can be walked. Returns its argument.
  value checked(value container);

  /// Throws template_error, of a message that is cut where it is too long to be read.
  [[noreturn]] void fail(std::string message) const;

 private:
  template_limits limits_;
  std::chrono::system_clock::time_point now_;
  std::size_t line_ = 0;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
  std::size_t bytes_read_ = 0;
  std::size_t depth_ = 0;
  std::size_t loops_ = 0;
  std::deque<name_space> namespaces_;
  std::deque<cycler> cyclers_;
  std::deque<joiner> joiners_;
  std::vector<std::shared_ptr<scope>> kept_;
  std::map<std::size_t, value> changed_;
  std::shared_ptr<scope> variables_;
  traced_text ignored_;
  traced_text* output_ = &ignored_;
};

/// A text that an operation writes, accounted for as it grows.
class growing_text {
 public:
  explicit growing_text(renderer& run) : run_(run) {}

  growing_text& operator+=(std::string_view more) {
    run_.charge(more.size());
    text_ += more;
    return *this;
  }
  growing_text& operator+=(char more) { return *this += std::string_view(&more, 1); }

  bool empty() const noexcept { return text_.empty(); }
  std::string take() { return std::move(text_); }

 private:
  renderer& run_;
  std::string text_;
};

}  // namespace cogen::text::jinja
