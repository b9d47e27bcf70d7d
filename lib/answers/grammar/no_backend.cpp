#include "answers/grammar/backend.hpp"
#include "answers/grammar/grammar_error.hpp"

namespace cogen::grammar {
namespace {

class no_backend : public backend {
 public:
  std::shared_ptr<compiled_grammar> compile(const std::string&, std::vector<distinct_rule>) override {
    throw grammar_error("structured output needs XGrammar, and this build of cogen is without it (COGEN_XGRAMMAR=OFF)");
  }

  std::unique_ptr<backend> separate(std::size_t) const override { return std::make_unique<no_backend>(); }
};

}  // namespace

std::unique_ptr<backend> make_backend(std::shared_ptr<const text::tokenizer>) { return std::make_unique<no_backend>(); }

bool has_backend() noexcept { return false; }

}  // namespace cogen::grammar
