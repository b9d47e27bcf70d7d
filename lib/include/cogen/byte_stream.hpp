#pragma once

#include <cogen/error.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>

namespace cogen {

/// Takes bytes in order, for a program whose sessions do not go to an AsyncWriteStream of Asio: the body of an HTTP
/// message, say. Only one call is pending at a time.
class byte_sink {
 public:
  virtual ~byte_sink() = default;
  /// Where the handlers run that have no executor of their own.
  virtual net::any_io_executor get_executor() = 0;
  /// Takes all of the bytes, which stay valid until it returns. Throws boost::system::system_error.
  virtual net::awaitable<void> write(std::span<const std::byte> bytes) = 0;
};

/// Gives bytes in order, as byte_sink takes them.
class byte_source {
 public:
  virtual ~byte_source() = default;
  /// Where the handlers run that have no executor of their own.
  virtual net::any_io_executor get_executor() = 0;
  /// Puts at least one byte there and returns how many; 0: there are no more. Throws boost::system::system_error.
  virtual net::awaitable<std::size_t> read_some(std::span<std::byte> buffer) = 0;
};

/// An AsyncWriteStream of Asio.
template <class Stream>
concept async_write_stream = requires(Stream& stream, net::const_buffer bytes) {
  { stream.get_executor() } -> std::convertible_to<net::any_io_executor>;
  stream.async_write_some(bytes, net::use_awaitable);
};

/// An AsyncReadStream of Asio.
template <class Stream>
concept async_read_stream = requires(Stream& stream, net::mutable_buffer bytes) {
  { stream.get_executor() } -> std::convertible_to<net::any_io_executor>;
  stream.async_read_some(bytes, net::use_awaitable);
};

/// What a session can be written to.
template <class Stream>
concept session_sink = std::derived_from<Stream, byte_sink> || async_write_stream<Stream>;

/// What a session can be read from.
template <class Stream>
concept session_source = std::derived_from<Stream, byte_source> || async_read_stream<Stream>;

namespace detail {

template <class Stream>
class stream_sink final : public byte_sink {
 public:
  explicit stream_sink(Stream& stream) : stream_(stream) {}
  net::any_io_executor get_executor() override { return stream_.get_executor(); }
  net::awaitable<void> write(std::span<const std::byte> bytes) override {
    co_await net::async_write(stream_, net::buffer(bytes.data(), bytes.size()), net::use_awaitable);
  }

 private:
  Stream& stream_;
};

template <class Stream>
class stream_source final : public byte_source {
 public:
  explicit stream_source(Stream& stream) : stream_(stream) {}
  net::any_io_executor get_executor() override { return stream_.get_executor(); }
  net::awaitable<std::size_t> read_some(std::span<std::byte> buffer) override {
    error_code code;
    const std::size_t read = co_await stream_.async_read_some(net::buffer(buffer.data(), buffer.size()),
                                                              net::redirect_error(net::use_awaitable, code));
    if (code && code != net::error::eof) throw boost::system::system_error(code);
    co_return read;
  }

 private:
  Stream& stream_;
};

/// The interface of a stream, which must outlive it.
template <session_sink Stream>
std::shared_ptr<byte_sink> sink_of(Stream& stream) {
  if constexpr (std::derived_from<Stream, byte_sink>)
    return {std::shared_ptr<void>(), &stream};
  else
    return std::make_shared<stream_sink<Stream>>(stream);
}

/// The same for what is read.
template <session_source Stream>
std::shared_ptr<byte_source> source_of(Stream& stream) {
  if constexpr (std::derived_from<Stream, byte_source>)
    return {std::shared_ptr<void>(), &stream};
  else
    return std::make_shared<stream_source<Stream>>(stream);
}

}  // namespace detail

}  // namespace cogen
