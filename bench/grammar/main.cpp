// bench_grammar FILE.jsonl...: how long schemas take to compile, and masks to be computed.
#include "answers/grammar/compiler.hpp"
#include "default_model.hpp"
#include "formats/json/parse.hpp"
#include "grammar/json_texts.hpp"
#include "text/tokenizer_of_model.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <time.h>
#include <vector>

namespace {

namespace json = boost::json;

constexpr const char* usage = R"(usage: bench/grammar [--slowest N] FILE.jsonl...

Reads lines as tests/schema_check does, compiles each schema once, walks its valid instances token by token of the
default model's tokenizer, and prints how long compiling and masks take, in processor time of one thread. Whole grammars
are not cached; rules that schemas have in common, such as strings, are.

--slowest N  also prints the N schemas with the slowest masks
)";

/// Processor time of this thread: other programs do not count.
double microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct slow_schema {
  double worst_mask;
  double compile;
  std::string schema;
};

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

class bench {
 public:
  explicit bench(const std::shared_ptr<const cogen::text::tokenizer>& tokens)
      : tokens_(*tokens), compiler_(tokens, {.cache_bytes = 0}), allowed_((tokens->size() + 63) / 64) {}

  void run(const json::value& line) {
    const auto schema = json::serialize(line.at("schema"));
    const auto start = microseconds();
    std::shared_ptr<const cogen::grammar::compiled_grammar> grammar;
    try {
      grammar = compiler_.compile(cogen::json_schema(schema));
    } catch (const std::invalid_argument&) {
      ++refused_;
      return;
    }
    compile_.push_back(microseconds() - start);
    bytes_.push_back(static_cast<double>(grammar->bytes()));
    double worst = 0;
    for (const auto& test : line.at("tests").as_array())
      if (test.at("valid").as_bool()) worst = std::max(worst, walk(*grammar, json_text(test.at("data"), false)));
    slow_.push_back({worst, compile_.back(), schema});
  }

  void report(std::size_t slowest) {
    std::printf("%zu schemas compiled, %d refused\n", compile_.size(), refused_);
    print("compile", "us", compile_);
    print("mask", "us", masks_);
    print("grammar", "bytes", bytes_);
    std::printf("forced: %.1f %% of %zu tokens\n",
                100.0 * static_cast<double>(forced_) / static_cast<double>(std::max<std::size_t>(1, masks_.size())),
                masks_.size());
    std::ranges::sort(slow_, std::ranges::greater(), &slow_schema::worst_mask);
    for (std::size_t i = 0; i < std::min(slowest, slow_.size()); ++i)
      std::printf("%8.0f us a mask, %8.0f us to compile: %s\n", slow_[i].worst_mask, slow_[i].compile,
                  slow_[i].schema.c_str());
  }

 private:
  static void print(const char* label, const char* unit, std::vector<double>& values) {
    std::printf("%-8s median %9.1f  99%% %9.1f  worst %9.1f %s\n", label, quantile(values, 0.5), quantile(values, 0.99),
                quantile(values, 1), unit);
  }

  double walk(const cogen::grammar::compiled_grammar& grammar, const std::string& text) {
    double worst = 0;
    auto guide = grammar.start();
    std::size_t forced = 0;
    for (const auto id : tokens_.encode(text)) {
      const auto start = microseconds();
      guide->allow(allowed_);
      masks_.push_back(microseconds() - start);
      worst = std::max(worst, masks_.back());
      if (forced > 0) {
        --forced;
        ++forced_;
      } else {
        forced = guide->forced().size();
      }
      const auto place = static_cast<std::size_t>(id);
      if ((allowed_[place / 64] >> place % 64 & 1) == 0) break;
      guide->accept(id);
    }
    return worst;
  }

  const cogen::text::tokenizer& tokens_;
  cogen::grammar::compiler compiler_;
  std::vector<std::uint64_t> allowed_;
  std::vector<double> compile_, masks_, bytes_;
  std::vector<slow_schema> slow_;
  std::size_t forced_ = 0;
  int refused_ = 0;
};

int run(const std::vector<std::string>& files, std::size_t slowest) {
  const std::shared_ptr<const cogen::text::tokenizer> tokens = tokenizer_of_model(::bench::default_model());
  bench benchmark(tokens);
  for (const auto& name : files) {
    std::ifstream file(name);
    if (!file) throw std::runtime_error(name + " cannot be read");
    for (std::string line; std::getline(file, line);) benchmark.run(cogen::json::parse(line, name));
  }
  benchmark.report(slowest);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::size_t slowest = 0;
  try {
    if (arguments.size() >= 2 && arguments[0] == "--slowest") {
      slowest = std::stoul(arguments[1]);
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
    if (arguments.empty() || arguments[0] == "--help") {
      std::cout << usage;
      return arguments.empty() ? 2 : 0;
    }
    return run(arguments, slowest);
  } catch (const std::exception& error) {
    std::cerr << "bench/grammar: " << error.what() << '\n';
    return 2;
  }
}
