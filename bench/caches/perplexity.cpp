// Each window of the text is read by every kind's cache at the same time, so that all judge the same tokens and each
// can be held against the reference token by token. A window begins with an empty cache; windows do not overlap.
#include "line.hpp"
#include "measurements.hpp"
#include "reader.hpp"
#include "scores.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cmath>

namespace curves {

namespace {

namespace json = boost::json;

struct tally {
  std::int64_t tokens = 0;
  double surprise = 0;    // nats, summed
  double divergence = 0;  // nats, summed
  std::int64_t agreed = 0;

  void add(const tally& more) {
    tokens += more.tokens;
    surprise += more.surprise;
    divergence += more.divergence;
    agreed += more.agreed;
  }

  json::object line() const {
    const auto count = static_cast<double>(tokens);
    return {{"tokens", tokens},
            {"nll", surprise / count},
            {"perplexity", std::exp(surprise / count)},
            {"kl", divergence / count},
            {"agreement", static_cast<double>(agreed) / count}};
  }
};

/// What one kind has come to.
struct curve {
  std::vector<tally> buckets;  // by position in the window
  std::vector<tally> windows;  // in the text's order
  std::vector<double> divergences;

  void add(std::size_t position, std::size_t context, const tally& sample) {
    buckets[position * buckets.size() / context].add(sample);
    windows.back().add(sample);
    divergences.push_back(sample.divergence);
  }

  tally total() const {
    tally sum;
    for (const auto& each : windows) sum.add(each);
    return sum;
  }
};

double mean_surprise(const tally& sum) { return sum.surprise / static_cast<double>(sum.tokens); }

json::array window_surprises(const curve& subject) {
  json::array surprises;
  for (const auto& each : subject.windows) surprises.push_back(mean_surprise(each));
  return surprises;
}

double quantile(std::vector<double> values, double part) {
  const auto position = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), position, values.end());
  return *position;
}

void judge(curve& output, const prediction& here, const prediction& reference, tokens next, std::size_t position,
           std::size_t context) {
  const auto apart = &here == &reference ? std::vector<double>(here.rows()) : divergence(reference, here);
  for (std::size_t row = 0; row < here.rows(); ++row) {
    const bool agrees = here.best[row] == reference.best[row];
    output.add(position + row, context,
               {.tokens = 1, .surprise = here.surprise(row, next[row]), .divergence = apart[row], .agreed = agrees});
  }
}

json::array positions(const curve& subject, int context) {
  json::array lines;
  const auto parts = static_cast<int>(subject.buckets.size());
  for (int i = 0; i < parts; ++i) {
    auto line = subject.buckets[static_cast<std::size_t>(i)].line();
    line["from"] = i * context / parts;
    line["to"] = (i + 1) * context / parts;
    lines.push_back(std::move(line));
  }
  return lines;
}

class comparison {
 public:
  comparison(const cogen::model& model, const settings& given)
      : context_(static_cast<std::size_t>(given.context)), chunk_(static_cast<std::size_t>(given.chunk)) {
    auto kinds = given.kinds;
    std::erase(kinds, given.reference);
    kinds.insert(kinds.begin(), given.reference);
    readers_ = predictors_of(model, kinds, {.max_sequence_length = given.context, .max_step_tokens = given.chunk},
                             given.threads);
    curves_.resize(kinds.size());
    for (auto& each : curves_) each.buckets.resize(static_cast<std::size_t>(given.buckets));
  }

  /// `ids` are the window's tokens and the one after it.
  void read_window(tokens ids) {
    for (auto& each : readers_) each->clear();
    for (auto& each : curves_) each.windows.emplace_back();
    for (std::size_t position = 0; position < context_; position += chunk_) {
      const auto count = std::min(chunk_, context_ - position);
      read_chunk(ids.subspan(position, count), ids.subspan(position + 1, count), position);
    }
  }

  void show_progress(std::size_t done, std::size_t total) const {
    std::string figures;
    for (std::size_t i = 0; i < readers_.size(); ++i)
      figures += fmt::format("  {} {:.3f}", readers_[i]->kind_name(), std::exp(mean_surprise(curves_[i].total())));
    progress("perplexity, window {} of {}:{}", done, total, figures);
  }

  void print_all() const {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      auto line = curves_[i].total().line();
      line["what"] = "perplexity";
      line["kind"] = readers_[i]->kind_name();
      line["reference"] = readers_[0]->kind_name();
      line["context"] = context_;
      line["windows"] = curves_[i].windows.size();
      line["kl_median"] = quantile(curves_[i].divergences, 0.5);
      line["kl_99"] = quantile(curves_[i].divergences, 0.99);
      line["kl_max"] = quantile(curves_[i].divergences, 1);
      line["window_nll"] = window_surprises(curves_[i]);
      line["positions"] = positions(curves_[i], static_cast<int>(context_));
      print(line);
    }
  }

 private:
  void read_chunk(tokens ids, tokens next, std::size_t position) {
    const auto reference = predict(readers_[0]->read(ids));
    judge(curves_[0], reference, reference, next, position, context_);
    for (std::size_t i = 1; i < readers_.size(); ++i)
      judge(curves_[i], predict(readers_[i]->read(ids)), reference, next, position, context_);
  }

  std::size_t context_, chunk_;
  std::vector<std::unique_ptr<predictor>> readers_;  // the reference first
  std::vector<curve> curves_;
};

/// The tokens of each window and the one after it. The first one is what the model expects a text to begin with, if it
/// expects anything.
std::vector<std::vector<cogen::token>> windows_of(const cogen::model& model, const settings& given) {
  const std::int64_t context = given.context;
  const auto count = (given.tokens + context - 1) / context;
  const auto ids = tokens_of(model, given.text, static_cast<std::size_t>(count * context + 1));
  const auto first = model.tokenizer().encode("", {.add_special = true});
  std::vector<std::vector<cogen::token>> windows;
  for (auto begin = ids.begin(); std::ssize(windows) < count; begin += context) {
    auto& window = windows.emplace_back(begin, begin + context + 1);
    if (!first.empty()) window.front() = first.front();
  }
  return windows;
}

}  // namespace

void perplexity(const cogen::model& model, const settings& given) {
  const auto windows = windows_of(model, given);
  comparison measured(model, given);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    measured.read_window(windows[i]);
    measured.show_progress(i + 1, windows.size());
  }
  measured.print_all();
}

void print_windows(const cogen::model& model, const settings& given) {
  for (const auto& each : windows_of(model, given)) fmt::print("{}\n", fmt::join(each.begin(), each.end() - 1, " "));
}

}  // namespace curves
