#pragma once

#include <filesystem>
#include <string_view>

/// Where tests find files. Only test_data.cpp names folders, so that a compiler cache serves the tests of every
/// checkout.
namespace cogen::test {

/// The folder tests/ of the sources, or the one that the environment variable COGEN_TEST_DATA names.
std::filesystem::path test_data();

/// A small model with what Transformers answers for it: tests/golden/`name`.
std::filesystem::path golden_folder(std::string_view name);

/// Where scripts/bootstrap and its like put what they fetch: the build's COGEN_DEPS.
std::filesystem::path fetched_data();

/// SmolLM2, as scripts/bootstrap fetches it. The file need not be there.
std::filesystem::path default_model_file();

}  // namespace cogen::test
