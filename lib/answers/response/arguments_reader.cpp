#include "answers/response/call_reader.hpp"
#include "formats/json/value_scanner.hpp"

namespace cogen::response {
namespace {

/// Reads a JSON object that is the arguments of a call.
class arguments_reader : public call_reader {
 public:
  explicit arguments_reader(const call_syntax& syntax) : end_(syntax.close) {}

  progress step(char byte, call_writer& calls) override {
    if (ended_) return end_.step(byte, calls);
    if (!begun_ && is_space(byte)) return progress::more;
    const auto scanned = !begun_ && byte != '{' ? scan::malformed : value_.step(byte);
    begun_ = true;
    if (scanned == scan::more) return calls.arguments({&byte, 1}), progress::more;
    ended_ = true;
    if (scanned == scan::ended) {
      calls.arguments({&byte, 1});
      return end_.begin(calls) ? progress::ended : progress::more;
    }
    end_.begin_malformed({}, calls);
    return end_.step(byte, calls);
  }

  void flush(call_writer& calls) override {
    if (ended_) end_.flush(calls);
  }

  void finish(call_writer& calls) override {
    if (ended_) return end_.finish(calls);
    calls.end(tool_call_status::unfinished);
  }

 private:
  using scan = cogen::json::value_scanner::progress;

  call_end_reader end_;
  cogen::json::value_scanner value_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<call_reader> read_arguments(const call_syntax& syntax) {
  return std::make_unique<arguments_reader>(syntax);
}

}  // namespace cogen::response
