#include <cogen/load/checkpoint.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "wrong: " << what << '\n';
  std::exit(1);
}

cogen::text::tokenizer_spec spec_of(const cogen::load::gguf_tokenizer& source) {
  return cogen::text::from_gguf({.model = source.model,
                                 .pre = source.pre,
                                 .tokens = source.tokens,
                                 .token_types = source.types,
                                 .merges = source.merges,
                                 .bos = source.bos,
                                 .eos = source.eos,
                                 .unknown = source.unknown,
                                 .add_bos = source.add_bos,
                                 .add_eos = source.add_eos,
                                 .chat_template = source.chat_template.value_or("")});
}

void check_plan(const std::vector<cogen::token>& tokens) {
  cogen::scheduler::limits limits;
  cogen::scheduler::scheduler scheduler(limits);
  cogen::scheduler::run prompt;
  prompt.tokens = tokens;
  scheduler.submit({}, prompt);
  const auto plan = scheduler.next();
  require(plan.rows.size() == 1 && plan.rows[0].count == static_cast<int>(tokens.size()), "the first plan");
}

}  // namespace

// Reads the model named on the command line, renders a chat, tokenizes it and plans its first step.
int main(int, char** arguments) {
  const cogen::load::checkpoint files(arguments[1]);
  const auto source = std::get<cogen::load::gguf_tokenizer>(files.tokenizer());
  const cogen::text::tokenizer tokenizer(spec_of(source));
  const cogen::text::chat_template chat(tokenizer.chat_template());

  const cogen::text::chat_message message{.role = "user", .content = "Say hello."};
  const auto prompt = chat.render({&message, 1}, {});
  const auto tokens = tokenizer.encode(prompt, {.parse_special = true});
  require(files.config().vocabulary == static_cast<std::int64_t>(tokenizer.size()), "the size of the vocabulary");
  require(tokenizer.decode(tokens).find("Say hello.") != std::string::npos, "the text of the tokens");
  check_plan(tokens);
}
