#include "formats/text/jinja/renderer.hpp"

namespace cogen::text::jinja {
namespace {

constexpr std::size_t deepest_container = 100;

/// What a variable takes beside its name, and what it takes to look for one in a block.
constexpr std::size_t variable_bytes = 112;
constexpr std::size_t block_bytes = 32;

}  // namespace

renderer::level renderer::enter(std::size_t line) {
  line_ = line;
  if (++steps_ > limits_.max_steps) fail("exceeds the limit of " + std::to_string(limits_.max_steps) + " steps");
  if (depth_ >= limits_.max_depth) fail("exceeds the depth limit of " + std::to_string(limits_.max_depth));
  ++depth_;
  return level(*this);
}

void renderer::write(const traced_text& text) {
  charge(text.size());
  output_->append(text);
}

void renderer::write(std::string_view text) {
  charge(text.size());
  output_->append(text, true);
}

void renderer::charge(std::size_t bytes) {
  if (bytes > limits_.max_bytes - bytes_) fail("exceeds the limit of " + std::to_string(limits_.max_bytes) + " bytes");
  bytes_ += bytes;
}

void renderer::look_at(std::size_t bytes) {
  if (bytes > limits_.max_bytes_read - bytes_read_) {
    fail("exceeds the limit of " + std::to_string(limits_.max_bytes_read) + " bytes that operations look at");
  }
  bytes_read_ += bytes;
}

void renderer::look_at(const value& text) {
  if (auto* given = text.text()) look_at(given->size());
}

const value* renderer::find(std::string_view name) {
  for (auto* block = variables_.get(); block; block = block->outer().get()) {
    look_at(block_bytes + name.size());
    if (auto* found = block->find(name)) return found;
  }
  return nullptr;
}

void renderer::set(std::string_view name, value object) {
  charge(variable_bytes + name.size());
  variables_->set(name, std::move(object));
}

void renderer::fail(std::string message) const { throw template_error(message, line_); }

name_space* renderer::make_namespace() {
  charge(sizeof(name_space));
  return &namespaces_.emplace_back();
}

cycler* renderer::make_cycler(std::vector<value> items) {
  charge(sizeof(cycler) + items.size() * sizeof(value));
  return &cyclers_.emplace_back(cycler{std::move(items)});
}

joiner* renderer::make_joiner(traced_text separator) {
  charge(sizeof(joiner) + separator.size());
  return &joiners_.emplace_back(joiner{std::move(separator)});
}

const std::shared_ptr<scope>& renderer::kept_variables() {
  if (!variables_->is_kept()) {
    charge(sizeof(scope) + sizeof(variables_));
    variables_->keep();
    kept_.push_back(variables_);
  }
  return variables_;
}

value renderer::make_list(std::vector<value> items, bool is_tuple) {
  charge(sizeof(list) + items.size() * sizeof(value));
  return checked(jinja::make_list(std::move(items), is_tuple));
}

value renderer::make_text(std::string bytes, bool trusted) { return make_text(traced_text(std::move(bytes), trusted)); }

value renderer::make_text(traced_text text) {
  charge(sizeof(traced_text) + text.size());
  return text;
}

value renderer::checked(value container) {
  if (depth_of(container) > deepest_container) {
    fail("nests containers deeper than the limit of " + std::to_string(deepest_container));
  }
  return container;
}

}  // namespace cogen::text::jinja
