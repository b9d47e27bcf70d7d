#include "engine/runner/diagnostics_of.hpp"

#include <cogen/scheduler/deadline_unreachable.hpp>

#include <boost/system/system_error.hpp>

#include <new>
#include <stdexcept>

namespace cogen::detail {
namespace {

error_code code_of(const std::exception_ptr& thrown) noexcept try {
  std::rethrow_exception(thrown);
} catch (const boost::system::system_error& e) {
  return e.code();
} catch (const std::bad_alloc&) {
  return make_error_code(error::out_of_memory);
} catch (const scheduler::deadline_unreachable&) {
  return make_error_code(error::deadline_unreachable);
} catch (const std::length_error&) {
  return make_error_code(error::does_not_fit);
} catch (...) {
  return make_error_code(error::invalid_request);
}

}  // namespace

std::string_view sentence_of(const std::exception_ptr& thrown) noexcept try {
  std::rethrow_exception(thrown);
} catch (const std::exception& e) {
  return e.what();  // valid while `thrown` holds the exception
} catch (...) {
  return "an exception of unknown type";
}

/// What std::bad_alloc says of itself is for nobody.
diagnostics diagnostics_of(const std::exception_ptr& thrown) noexcept {
  const auto code = code_of(thrown);
  if (code == make_error_code(error::out_of_memory)) return code;
  return {code, sentence_of(thrown)};
}

}  // namespace cogen::detail
