// What is refused as a session, and files that cannot be written.
#include "../models/golden_copy.hpp"
#include "../test_data.hpp"
#include "engine/snapshot/session_format.hpp"
#include "formats/checkpoint/checksum.hpp"
#include "model_engines.hpp"
#include "session_files.hpp"
#include "session_streams.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace cogen::test {
namespace {

/// A session of some tokens on a tiny model.
struct saved_one {
  explicit saved_one(const std::string& golden = "llama_default", std::optional<cache::scalar> type = {},
                     std::optional<cache::quantization> quantization = {})
      : model(golden_model(golden)) {
    options.kv.dtype = type;
    if (quantization) {
      quantization->residual = 0;
      length = 70;  // of which 64 are quantized
    }
    options.kv.quantization = std::move(quantization);
    engine running(model, options);
    BOOST_TEST_REQUIRE(!save(running, file.path), said);
    whole = file.bytes();
  }

  error_code save(engine& running, const std::filesystem::path& path) {
    error_code ended;
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = running.open();
      co_await seq.async_forward(some_tokens(*model, length, 1));
      ended = std::get<0>(co_await seq.async_save(path, net::as_tuple(net::use_awaitable)));
      said = seq.error().message();
      co_await seq.async_forward({1});
    });
    return ended;
  }

  /// What opening `bytes` says.
  std::string refusal(const std::string& bytes) {
    file.write(bytes);
    return refusal(options, model);
  }

  std::string refusal(const engine_options& settings, const std::shared_ptr<const cogen::model>& loaded,
                      std::optional<int> max_sequence_length = {}) {
    engine running(loaded, settings);
    return refusal(running, max_sequence_length);
  }

  std::string refusal(engine& running, std::optional<int> max_sequence_length = {}) {
    std::string message;
    drive(running, [&]() -> net::awaitable<void> {
      auto result = co_await running.async_load_session(file.path, {.max_sequence_length = max_sequence_length},
                                                        net::as_tuple(net::use_awaitable));
      code = std::get<0>(result);
      message = std::get<1>(result).error().message();
    });
    return message;
  }

  /// What opening `bytes` from a stream says.
  std::string refusal_of_stream(engine& running, const std::string& bytes) {
    std::string message;
    drive(running, [&]() -> net::awaitable<void> {
      memory_stream source(co_await net::this_coro::executor, bytes);
      auto result = co_await running.async_load_session(source, {}, net::as_tuple(net::use_awaitable));
      code = std::get<0>(result);
      message = std::get<1>(result).error().message();
    });
    return message;
  }

  std::shared_ptr<const cogen::model> model;
  int length = 20;
  engine_options options = tiny_engine(*model);
  session_path file;
  std::string whole;
  std::string said;
  error_code code;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

/// An empty folder that goes at the end.
struct own_folder {
  own_folder() { std::filesystem::create_directory(path.path); }
  ~own_folder() { std::filesystem::remove_all(path.path); }
  session_path path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_byte_that_changes_is_noticed) {
  saved_one s;
  engine running(s.model, s.options);
  const auto step = std::max<std::size_t>(1, s.whole.size() / 400);
  for (std::size_t offset = 0; offset < s.whole.size(); offset += offset < 400 ? 1 : step) {
    auto damaged = s.whole;
    damaged[offset] = static_cast<char>(damaged[offset] ^ 4);
    s.file.write(damaged);
    const auto said = s.refusal(running);
    BOOST_TEST(s.code == make_error_code(error::bad_session), "byte " << offset);
    BOOST_TEST(has(said, s.file.path.string()), "byte " << offset << ": " << said);
    const auto of_stream = s.refusal_of_stream(running, damaged);
    BOOST_TEST(s.code == make_error_code(error::bad_session), "byte " << offset);
    BOOST_TEST("session " + s.file.path.string() + of_stream.substr(std::string("the session").size()) == said);
  }
}

/// Checksums find damage, not forgery: whatever the head says, the engine goes on.
BOOST_AUTO_TEST_CASE(a_forged_head_is_refused_or_harms_nobody) {
  saved_one s;
  engine running(s.model, s.options);
  detail::session_preamble first;
  const auto bytes = std::as_writable_bytes(std::span(&first, 1));
  std::memcpy(bytes.data(), s.whole.data(), bytes.size());
  for (std::size_t offset = bytes.size(); offset < bytes.size() + first.head_bytes; ++offset)
    for (const char mask : {'\x01', '\x7f', '\x80'}) {
      auto forged = s.whole;
      forged[offset] = static_cast<char>(forged[offset] ^ mask);
      const std::string_view head = std::string_view(forged).substr(bytes.size(), first.head_bytes);
      first.head_sum = load::checksum_of(std::as_bytes(std::span(head)));
      first.sum = load::checksum_of(bytes.first(offsetof(detail::session_preamble, sum)));
      std::memcpy(forged.data(), bytes.data(), bytes.size());
      drive(running, [&]() -> net::awaitable<void> {
        memory_stream source(co_await net::this_coro::executor, forged);
        auto result = co_await running.async_load_session(source, {}, net::as_tuple(net::use_awaitable));
        if (!std::get<0>(result)) std::ignore = co_await std::get<1>(result).async_decode();
      });
    }
  BOOST_TEST(!running.error());
  BOOST_TEST(s.refusal_of_stream(running, s.whole).empty());
}

/// With the body's checksum, as somebody makes it up.
BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_refused) {
  struct stored {
    const char* golden;
    cache::scalar type;
    std::optional<cache::quantization> quantization = {};
  };
  const stored kinds[] = {{"llama_default", cache::scalar::f32},
                          {"llama_default", cache::scalar::f16},
                          {"llama_default", cache::scalar::bf16},
                          {"llama_default", cache::scalar::f32, cache::int8()},
                          {"llama_default", cache::scalar::bf16, cache::int4()},
                          {"llama_default", cache::scalar::f16, cache::kivi2()},
                          {"mamba_tiny", cache::scalar::f32}};
  constexpr std::uint32_t no_number = 0x7fff7fff;  // in float32, and twice in each 16-bit type
  for (const auto& [golden, type, quantization] : kinds) {
    saved_one s(golden, type, quantization);
    engine running(s.model, s.options);
    detail::session_preamble first;
    std::memcpy(&first, s.whole.data(), sizeof(first));
    const auto begin = sizeof(first) + first.head_bytes;
    for (const std::size_t offset : {std::size_t{0}, std::size_t{64}}) {
      auto forged = s.whole;
      std::memcpy(forged.data() + begin + offset, &no_number, sizeof(no_number));
      const auto body = std::string_view(forged).substr(begin, first.body_bytes);
      const auto sum = load::checksum_of(std::as_bytes(std::span(body)));
      std::memcpy(forged.data() + begin + first.body_bytes, &sum, sizeof(sum));
      const auto of_stream = s.refusal_of_stream(running, forged);
      BOOST_TEST(of_stream == "the session: it holds a number that is not finite", golden << " at " << offset);
      BOOST_TEST(s.code == make_error_code(error::bad_session));
      s.file.write(forged);
      BOOST_TEST(has(s.refusal(running), "it holds a number that is not finite"));
    }
    BOOST_TEST(s.refusal_of_stream(running, s.whole).empty());
  }
}

BOOST_AUTO_TEST_CASE(every_part_says_what_is_wrong_with_it) {
  saved_one s;
  const auto with = [&](std::size_t offset, char value) {
    auto changed = s.whole;
    changed[offset] = value;
    return s.refusal(changed);
  };
  BOOST_TEST(has(with(0, 'x'), "it is not a session of cogen"));
  BOOST_TEST(has(with(8, 2), "it is of version 2; this program reads version 4"));
  BOOST_TEST(has(with(44, '?'), "its beginning is damaged"));
  BOOST_TEST(has(with(70, '?'), "its head is damaged"));
  BOOST_TEST(has(with(s.whole.size() - 9, '?'), "its body is damaged"));
  BOOST_TEST(has(s.refusal(s.whole + "x"), "it is too long"));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_cut_short_is_refused_at_every_length) {
  saved_one s;
  engine running(s.model, s.options);
  for (std::size_t size = 0; size < s.whole.size(); size += size < 100 ? 1 : s.whole.size() / 50) {
    s.file.write(s.whole.substr(0, size));
    const auto said = s.refusal(running);
    BOOST_TEST(s.code == make_error_code(error::bad_session));
    BOOST_TEST(has(said, size < 8 ? "it is not a session" : "it is cut short"), size << ": " << said);
    const auto of_stream = s.refusal_of_stream(running, s.whole.substr(0, size));
    BOOST_TEST(s.code == make_error_code(error::bad_session));
    BOOST_TEST(has(of_stream, size < 8 ? "it is not a session" : "it is cut short"), size << ": " << of_stream);
  }
}

BOOST_AUTO_TEST_CASE(a_session_of_another_model_or_cache_is_refused) {
  saved_one s;
  const auto other = s.refusal(s.options, golden_model("llama_yarn"));
  BOOST_TEST(s.code == make_error_code(error::bad_session));
  BOOST_TEST(has(other, "it is of another model: of \"" + s.model->fingerprint() + "\", and this engine's is \"" +
                            golden_model("llama_yarn")->fingerprint() + "\""),
             other);
  auto options = s.options;
  options.kv.dtype = cache::scalar::f16;
  BOOST_TEST(
      has(s.refusal(options, s.model), "it is of another kind of cache: of \"f32\", and this engine's is \"f16\""));
  BOOST_TEST(s.code == make_error_code(error::bad_session));
  options = s.options;
  options.kv.quantization = cache::int8();
  BOOST_TEST(has(s.refusal(options, s.model), "it is of another kind of cache: of \"f32\", and this engine's is \""));
}

BOOST_AUTO_TEST_CASE(a_session_of_the_same_model_with_other_weights_is_refused) {
  saved_one s;
  const golden_copy folder("llama_default");
  folder.set_number("model.layers.0.self_attn.q_proj.weight", 0, 0x3f81);
  const auto other = load_model(folder.path(), {.threads = 1});
  BOOST_TEST(has(s.refusal(s.options, other), "it is of another model: of \"" + s.model->fingerprint() +
                                                  "\", and this engine's is \"" + other->fingerprint() + "\""));
  BOOST_TEST(s.code == make_error_code(error::bad_session));
}

BOOST_AUTO_TEST_CASE(a_session_of_another_backend_is_refused, *boost::unit_test::enable_if<has_devices>()) {
  saved_one s;
  const auto said = s.refusal(s.options, golden_model("llama_default", "reference"));
  BOOST_TEST(has(said, "it is of another kind of cache: of \"f32\", and this engine's is \"Float on reference\""),
             said);
  BOOST_TEST(s.code == make_error_code(error::bad_session));
}

BOOST_AUTO_TEST_CASE(opening_a_file_of_another_model_throws_the_sentence) {
  saved_one s;
  const auto other = golden_model("llama_yarn");
  const auto sentence = s.refusal(s.options, other);
  engine running(other, s.options);
  drive(running, [&]() -> net::awaitable<void> {
    try {
      std::ignore = co_await running.async_load_session(s.file.path);
      BOOST_ERROR("it was opened");
    } catch (const generation_error& e) {
      BOOST_TEST(e.what() == sentence);
      BOOST_TEST(e.code() == make_error_code(error::bad_session));
    }
  });
}

BOOST_AUTO_TEST_CASE(models_differ_by_their_identity, *boost::unit_test::enable_if<has_devices>()) {
  BOOST_TEST(golden_model("llama_default")->fingerprint() != golden_model("llama_linear")->fingerprint());
  BOOST_TEST(golden_model("llama_default")->fingerprint() == load_model(golden_folder("llama_default"))->fingerprint());
  BOOST_TEST(golden_model("llama_default")->fingerprint() == golden_model("llama_default", "reference")->fingerprint());
  const auto in_int8 =
      load_model(golden_folder("llama_gguf"), {.device = "reference", .device_weights = device_weights::int8});
  BOOST_TEST(in_int8->fingerprint() == golden_model("llama_gguf")->fingerprint() + ", in int8, embeddings too");
}

BOOST_AUTO_TEST_CASE(a_session_that_is_too_long_is_refused) {
  saved_one s;
  BOOST_TEST(has(s.refusal(s.options, s.model, 19), "it holds 20 tokens; the sequence may hold 19"));
  BOOST_TEST(s.code == make_error_code(error::does_not_fit));
  BOOST_TEST(s.refusal(s.options, s.model, 20).empty());
  BOOST_TEST(!s.code);
  engine running(s.model, s.options);
  BOOST_CHECK_THROW(std::ignore = running.async_load_session(
                        s.file.path, {.max_sequence_length = *s.options.limits.max_sequence_length + 1}),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_is_the_systems_error) {
  saved_one s;
  std::filesystem::remove(s.file.path);
  const auto said = s.refusal(s.options, s.model);
  BOOST_TEST(s.code == boost::system::errc::no_such_file_or_directory);
  BOOST_TEST(has(said, s.file.path.string() + ": it cannot be opened"), said);
  std::filesystem::create_directory(s.file.path);
  BOOST_TEST(has(s.refusal(s.options, s.model), "it is not a regular file"));
}

BOOST_AUTO_TEST_CASE(the_sequence_of_a_failed_operation_has_the_sentence) {
  saved_one s;
  s.file.write("nothing");
  engine running(s.model, s.options);
  diagnostics why;
  drive(running, [&]() -> net::awaitable<void> {
    const auto [code, opened] = co_await running.async_load_session(s.file.path, {}, net::as_tuple(net::deferred));
    BOOST_TEST((code == error::bad_session));
    why = opened.error();
    try {
      std::ignore = co_await running.async_load_session(s.file.path);
      BOOST_ERROR("it was opened");
    } catch (const generation_error& e) {
      BOOST_TEST(e.what() == why.message());
      BOOST_TEST((e.code() == error::bad_session));
    }
  });
  BOOST_TEST((why.code() == error::bad_session));
  BOOST_TEST(has(why.message(), "it is not a session of cogen"), why.message());
}

BOOST_AUTO_TEST_CASE(a_file_that_fails_at_any_byte_leaves_what_was_there) {
  saved_one s;
  const own_folder folder;
  const auto path = folder.path.path / "kept.session";
  std::filesystem::copy(s.file.path, path);
  engine running(s.model, s.options);
  for (std::size_t bytes = 0; bytes < s.whole.size(); bytes += bytes < 300 ? 37 : s.whole.size() / 20) {
    error_code code;
    {
      const file_limit limit(bytes);
      code = s.save(running, path);
    }
    BOOST_TEST(code == boost::system::errc::file_too_large, bytes << ": " << code.message());
    BOOST_TEST(has(s.said, path.string() + ": it cannot be written"), s.said);
    BOOST_TEST(files_in(folder.path.path) == 1u);
  }
  BOOST_TEST(std::filesystem::file_size(path) == s.whole.size());
  BOOST_TEST(!s.save(running, path));
  BOOST_TEST(files_in(folder.path.path) == 1u);
}

BOOST_AUTO_TEST_CASE(a_missing_folder_is_reported) {
  saved_one s;
  engine running(s.model, s.options);
  BOOST_TEST(s.save(running, "/nonexistent/folder/a.session") == boost::system::errc::no_such_file_or_directory);
  BOOST_TEST(has(s.said, "session /nonexistent/folder/a.session: no file can be made beside it"), s.said);
  const own_folder folder;
  BOOST_TEST(bool(s.save(running, folder.path.path)));
  BOOST_TEST(has(s.said, "it cannot be replaced"), s.said);
  BOOST_TEST(files_in(folder.path.path) == 0u);
}

}  // namespace cogen::test
