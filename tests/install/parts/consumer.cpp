#include <cogen/load/checkpoint.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

namespace {

void require(bool condition, const char* message) {
  if (condition) return;
  std::cerr << "wrong: " << message << '\n';
  std::exit(1);
}

// Lists the weights, and reads the first row of one as numbers.
void check_weights(const cogen::load::checkpoint& files) {
  const auto config = files.config();
  const auto embedding = files.at("model.embed_tokens.weight", {config.vocabulary, config.hidden});
  require(std::ranges::count(files.weight_names(), embedding.name()) == 1, "the names of the weights");
  std::vector<float> row(static_cast<std::size_t>(embedding.columns()));
  embedding.read_rows_as_float(0, 1, row);
  require(std::ranges::any_of(row, [](float number) { return number != 0; }), "the numbers of a row");
  std::cout << "embedding: " << to_string(embedding.type()) << ", " << embedding.bytes() << " bytes\n";
}

void check_text(const cogen::text::tokenizer& tokenizer, const std::vector<cogen::token>& tokens) {
  cogen::text::detokenizer pieces(tokenizer);
  std::string text;
  for (const auto id : tokens) text += pieces.push(id);
  require((text + pieces.flush()).find("Say hello.") != std::string::npos, "the text of the tokens");
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

// Reads the model named on the command line, renders a chat, tokenizes it, plans its first step and reads a weight.
int main(int, char** arguments) {
  const cogen::load::checkpoint files(arguments[1]);
  const auto source = std::get<cogen::text::gguf_vocabulary>(files.tokenizer());
  const auto tokenizer = cogen::text::tokenizer::from_gguf(source);
  const cogen::text::chat_template chat(tokenizer.chat_template());

  const cogen::text::chat_message message{.role = "user", .content = "Say hello."};
  const auto prompt = chat.render({&message, 1}, {});
  const auto tokens = tokenizer.encode(prompt, {.parse_special = true});
  require(files.config().vocabulary == static_cast<std::int64_t>(tokenizer.size()), "the size of the vocabulary");
  check_text(tokenizer, tokens);
  check_weights(files);
  check_plan(tokens);
}
