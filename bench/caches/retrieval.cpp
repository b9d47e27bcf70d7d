// Facts are planted in texts at even depths, one or several in a text, each with a name of its own. After the whole
// text each is asked for, from the same place: the greedy continuation has to be the number (`right`), and of eight
// numbers, the other planted ones among them, it has to be the most likely (`chosen`: one in eight by chance).
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"
#include "scores.hpp"

#include <algorithm>
#include <array>
#include <random>

namespace curves {

namespace {

constexpr std::array names{"the harbour",  "Miss Alder",   "the red house", "Doctor Penn",
                           "the old mill", "Captain Rook", "the garden",    "Lady Thorne",
                           "the chapel",   "Mr. Quill",    "the bridge",    "Sergeant Moss"};

struct fact {
  std::string name;
  std::string number;
  double depth;
};

std::string any_number(std::mt19937_64& random) {
  return std::to_string(std::uniform_int_distribution(1000, 9999)(random));
}

/// The facts of one of depths / facts texts: together they stand at all depths.
std::vector<fact> facts_of(const settings& given, int text, std::mt19937_64& random) {
  std::vector<std::string> shuffled(names.begin(), names.end());
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<fact> facts;
  for (int i = 0; i < given.facts; ++i) {
    const int place = text + i * (given.depths / given.facts);
    facts.push_back({shuffled[static_cast<std::size_t>(i)], any_number(random), (place + 0.5) / given.depths});
  }
  return facts;
}

/// The planted numbers, and others where there are few, for an answer to be chosen from.
std::vector<std::string> numbers_of(std::span<const fact> facts, std::mt19937_64& random) {
  constexpr std::size_t choices = 8;
  std::vector<std::string> numbers;
  for (const auto& each : facts) numbers.push_back(each.number);
  while (numbers.size() < choices) numbers.push_back(any_number(random));
  return numbers;
}

std::string question(const fact& asked) { return fmt::format("\nThe secret number of {} is", asked.name); }
std::string sentence(const fact& planted) { return fmt::format("{} {}.\n", question(planted), planted.number); }

/// The next place from `position` on where a sentence ends.
std::size_t after_sentence(const cogen::model& model, tokens text, std::size_t position) {
  while (position < text.size() && model.tokenizer().token_bytes(text[position]).find('.') == std::string_view::npos)
    ++position;
  return std::min(position + 1, text.size());
}

std::vector<cogen::token> planted(const cogen::model& model, tokens text, std::span<const fact> facts) {
  std::vector<cogen::token> result;
  std::size_t copied = 0;
  for (const auto& each : facts) {
    const auto place =
        after_sentence(model, text, static_cast<std::size_t>(each.depth * static_cast<double>(text.size())));
    result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(copied),
                  text.begin() + static_cast<std::ptrdiff_t>(place));
    const auto tokens = model.tokenizer().encode(sentence(each));
    result.insert(result.end(), tokens.begin(), tokens.end());
    copied = place;
  }
  result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(copied), text.end());
  return result;
}

/// A kind that has read a text, and what it answers from there.
class witness {
 public:
  witness(const cogen::model& model, reader& reader, tokens text) : model_(model), reader_(reader) {
    reader_.clear();
    reader_.skim(text);
    length_ = reader_.length();
    copy_ = reader_.copy();
  }

  /// The greedy continuation, as many tokens as the number takes.
  std::string answer(const fact& asked) {
    std::vector<cogen::token> said;
    auto next = predict(reader_.skim(encode(question(asked)))).best[0];
    for (const auto wanted = encode(" " + asked.number).size(); said.size() < wanted;) {
      said.push_back(next);
      next = predict(reader_.read(std::span(&next, 1))).best[0];
    }
    go_back();
    return model_.tokenizer().decode(said);
  }

  /// How unlikely this number is as the answer, in nats.
  double surprise(const fact& asked, const std::string& number) {
    const auto prompt = encode(question(asked)), answer = encode(" " + number);
    auto ids = prompt;
    ids.insert(ids.end(), answer.begin(), answer.end() - 1);
    const auto seen = predict(reader_.read(ids));
    double sum = 0;
    for (std::size_t i = 0; i < answer.size(); ++i) sum += seen.surprise(prompt.size() - 1 + i, answer[i]);
    go_back();
    return sum;
  }

 private:
  std::vector<cogen::token> encode(const std::string& text) const { return model_.tokenizer().encode(text); }
  void go_back() { reader_.go_back(length_, copy_); }

  const cogen::model& model_;
  reader& reader_;
  int length_ = 0;
  std::vector<std::byte> copy_;
};

std::string most_likely(witness& asked, const fact& about, std::span<const std::string> numbers) {
  std::vector<double> surprises;
  for (const auto& each : numbers) surprises.push_back(asked.surprise(about, each));
  const auto least = std::min_element(surprises.begin(), surprises.end()) - surprises.begin();
  return numbers[static_cast<std::size_t>(least)];
}

struct quiz {
  std::vector<fact> facts;
  std::vector<std::string> numbers;
  std::vector<cogen::token> text;
};

quiz quiz_of(const cogen::model& model, const settings& given, int number, tokens filler, std::mt19937_64& random) {
  const auto facts = facts_of(given, number, random);
  return {facts, numbers_of(facts, random), planted(model, filler, facts)};
}

void ask_all(witness& asked, const quiz& about, const boost::json::object& where) {
  for (const auto& each : about.facts) {
    auto line = where;
    const auto answer = asked.answer(each);
    line["depth"] = each.depth;
    line["name"] = each.name;
    line["number"] = each.number;
    line["answer"] = answer;
    line["right"] = answer == " " + each.number;
    line["chosen"] = most_likely(asked, each, about.numbers) == each.number;
    print(line);
  }
}

void check_retrieval(const settings& given) {
  if (given.facts > static_cast<int>(names.size()) || given.depths % given.facts != 0)
    throw std::invalid_argument(fmt::format("--facts is {}; it must divide --depths, which is {}, and be at most {}",
                                            given.facts, given.depths, names.size()));
}

}  // namespace

void retrieval(const cogen::model& model, const settings& given) {
  check_retrieval(given);
  constexpr int fact_tokens = 32;  // at least the tokens that one fact takes, and a question with its answer
  const int texts = given.trials * given.depths / given.facts, longest = given.lengths.back();
  const auto ids = tokens_of(model, given.text, static_cast<std::size_t>(longest) * static_cast<std::size_t>(texts));
  const auto readers = readers_of(model, given.kinds, {longest + fact_tokens, given.chunk}, given.threads);
  std::mt19937_64 random(given.seed);
  for (const int length : given.lengths)
    for (int i = 0; i < texts; ++i) {
      const auto filler =
          tokens(ids).subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(longest),
                              static_cast<std::size_t>(std::max(1, length - fact_tokens * given.facts)));
      const auto about = quiz_of(model, given, i % (given.depths / given.facts), filler, random);
      for (const auto& source : readers) {
        witness asked(model, *source, about.text);
        ask_all(asked, about,
                {{"what", "retrieval"}, {"kind", source->kind_name()}, {"length", length}, {"facts", given.facts}});
        source->clear();
      }
      progress("retrieval, {} tokens: text {} of {}", length, i + 1, texts);
    }
}

}  // namespace curves
