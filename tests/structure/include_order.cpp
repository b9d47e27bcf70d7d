#include "../test_data.hpp"
#include "include_rules.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <stdexcept>

using namespace cogen::structure;

namespace {

std::vector<std::string> wrong(const std::string& path, const std::string& include) {
  return wrong_includes({{path, {include}}});
}

void check_none(const std::vector<std::string>& findings) {
  for (const auto& finding : findings) BOOST_ERROR(finding);
}

const std::filesystem::path repository = cogen::test::test_data().parent_path();

constexpr int max_rooms = 6, max_floors = 6;

/// Beside them are those of the repository, and what all include.
std::ptrdiff_t rooms_of_lib(const std::set<std::string>& rooms) {
  const std::set<std::string> neighbours = {"scheduler", "cache", "values", "basics"};
  return std::ranges::count_if(rooms, [&](const auto& room) { return !neighbours.contains(room); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(include_order)

BOOST_AUTO_TEST_CASE(include_lines_are_found) {
  const auto names = include_names("#pragma once\n#include <vector>\n  # include \"text/bpe.hpp\"\n// #include <no>\n");
  const std::vector<std::string> expected = {"vector", "text/bpe.hpp"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_rooms_keep_the_order) {
  const auto files = read_rooms(repository);
  BOOST_TEST(files.size() > 10u);
  check_none(wrong_includes(files));
}

BOOST_AUTO_TEST_CASE(six_rooms_of_lib_stand_on_at_most_six_floors) {
  const auto floors = floors_of_rooms(read_rooms(repository));
  for (const auto& [room, floor] : floors) {
    BOOST_TEST_MESSAGE(floor << " " << room);
    BOOST_TEST(floor < max_floors, room);
  }
  const std::set<std::string> expected = {"formats",  "answers",   "network", "sampling", "engine",
                                          "decoding", "scheduler", "cache",   "values",   "basics"};
  std::set<std::string> rooms;
  for (const auto& [room, floor] : floors) rooms.insert(room);
  BOOST_TEST(rooms == expected, boost::test_tools::per_element());
  const auto highest = std::ranges::max_element(floors, {}, [](const auto& room) { return room.second; });
  BOOST_TEST_MESSAGE("rooms of lib: " << rooms_of_lib(rooms) << ", at most " << max_rooms);
  BOOST_TEST_MESSAGE("floors: " << highest->second + 1 << ", at most " << max_floors);
}

BOOST_AUTO_TEST_CASE(rooms_that_include_each_other_are_found) {
  const source_file up{"lib/formats/json/a.cpp", {"answers/grammar/compiler.hpp"}};
  const source_file down{"lib/answers/grammar/b.cpp", {"formats/json/parse.hpp"}};
  BOOST_CHECK_THROW(floors_of_rooms({up, down}), std::logic_error);
  BOOST_TEST(floors_of_rooms({down}).at("answers") == 1);
}

BOOST_AUTO_TEST_CASE(only_devices_reach_libtorch) { check_none(files_reaching_libtorch(read_rooms(repository))); }

BOOST_AUTO_TEST_CASE(folders_of_lib_do_not_look_up) {
  BOOST_TEST(wrong("lib/network/kernels/a.cpp", "network/backend/cpu/linear.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/network/backend/a.cpp", "network/nn/network.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/network/models/a.cpp", "network/backend/cpu/projection.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/include/cogen/text/tokenizer.hpp", "cogen/engine.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/engine/a.cpp", "decoding/beam_search.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/network/nn/a.cpp", "network/backend/cpu/projection.hpp").empty());
}

BOOST_AUTO_TEST_CASE(independent_folders_stay_independent) {
  BOOST_TEST(wrong("lib/formats/text/a.cpp", "formats/checkpoint/gguf_header.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/formats/checkpoint/a.cpp", "cogen/text/tokenizer.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/sampling/a.cpp", "network/kernels/worker_pool.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/engine/async/a.cpp", "cogen/detail/scheduler/step.hpp").size() == 1u);
  BOOST_TEST(wrong("lib/engine/a.cpp", "xxhash.h").size() == 1u);
  BOOST_TEST(wrong("lib/engine/a.cpp", "xgrammar/matcher.h").size() == 1u);
  BOOST_TEST(wrong("lib/formats/text/a.cpp", "answers/grammar/compiler.hpp").size() == 1u);
}

BOOST_AUTO_TEST_CASE(decoding_stands_on_the_public_face) {
  BOOST_TEST(wrong("lib/decoding/a.cpp", "cogen/sequence.hpp").empty());
  BOOST_TEST(wrong("lib/decoding/a.cpp", "engine/engine_loop.hpp").size() == 1u);
}

BOOST_AUTO_TEST_CASE(cache_and_scheduler_include_no_other_room) {
  BOOST_TEST(wrong("cache/a.cpp", "cogen/detail/scheduler/step.hpp").size() == 1u);
  BOOST_TEST(wrong("cache/a.cpp", "cogen/token.hpp").size() == 1u);
  BOOST_TEST(wrong("scheduler/a.cpp", "cogen/detail/cache/step.hpp").size() == 1u);
  BOOST_TEST(wrong("scheduler/a.cpp", "cogen/token.hpp").size() == 1u);
  BOOST_TEST(wrong("scheduler/a.cpp", "boost/asio/post.hpp").size() == 1u);
  BOOST_TEST(wrong("scheduler/a.cpp", "cogen/detail/scheduler/step.hpp").empty());
}

BOOST_AUTO_TEST_CASE(libtorch_stays_where_tensors_are) {
  BOOST_TEST(wrong("lib/network/kernels/a.cpp", "ATen/core/Tensor.h").size() == 1u);
  BOOST_TEST(wrong("lib/formats/text/a.cpp", "c10/util/Exception.h").size() == 1u);
  for (const std::string file : {"lib/network/backend/cpu/a.cpp", "lib/network/nn/a.cpp", "lib/network/model/a.cpp",
                                 "lib/engine/runner/model_runner.cpp", "cache/layer.cpp", "lib/include/cogen/model.hpp",
                                 "cache/include/cogen/extend/kv_layer.hpp"})
    BOOST_TEST(wrong(file, "ATen/core/Tensor.h").size() == 1u, file);
  for (const std::string file : {"lib/network/backend/tensor/a.cpp", "lib/network/nn/device/a.cpp",
                                 "lib/engine/runner/device_runner.cpp", "cache/include/cogen/extend/tensors.hpp"})
    BOOST_TEST(wrong(file, "ATen/core/Tensor.h").empty(), file);
  BOOST_TEST(wrong("lib/network/backend/tensor/a.cpp", "torch/torch.h").size() == 1u);
}

BOOST_AUTO_TEST_CASE(libtorch_is_found_through_a_chain) {
  const source_file tensors{"cache/include/cogen/extend/tensors.hpp", {"ATen/core/Tensor.h"}};
  const source_file face{"lib/include/cogen/engine.hpp", {"vector", "cogen/extend/tensors.hpp"}};
  const source_file own{"lib/network/backend/operators.hpp", {"cogen/extend/tensors.hpp"}};
  const source_file source{"lib/network/nn/a.cpp", {"network/backend/operators.hpp"}};
  BOOST_TEST(files_reaching_libtorch({tensors, face}).size() == 1u);
  BOOST_TEST(files_reaching_libtorch({tensors, own, source}).size() == 1u);
  BOOST_TEST(files_reaching_libtorch({tensors, own}).empty());
}

BOOST_AUTO_TEST_CASE(the_engine_header_is_light) {
  BOOST_TEST(weight_of_engine_header(read_rooms(repository)) == "");
  const source_file request{"lib/include/cogen/request.hpp", {"boost/json/fwd.hpp"}};
  const source_file engine{"lib/include/cogen/engine.hpp", {"cogen/request.hpp"}};
  BOOST_TEST(weight_of_engine_header({request, engine}) == "");
  for (const std::string heavy : {"boost/json/object.hpp", "cogen/policy.hpp", "cogen/detail/scheduler/types.hpp",
                                  "cogen/scheduler/scheduler.hpp", "ATen/core/Tensor.h"}) {
    const source_file heavy_request{"lib/include/cogen/request.hpp", {heavy}};
    BOOST_TEST(weight_of_engine_header({heavy_request, engine}) != "", heavy);
  }
}

BOOST_AUTO_TEST_CASE(installed_headers_include_installed_ones) {
  check_none(uninstalled_headers(read_rooms(repository)));
  const source_file runner{"lib/include/cogen/extend/runner.hpp", {"cogen/cache/device_cache.hpp"}};
  BOOST_TEST(uninstalled_headers({runner}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(files_stand_for_places) {
  BOOST_TEST(place_of_file("lib/engine/stream/a.cpp") == "lib/engine/stream");
  BOOST_TEST(place_of_file("lib/network/backend/cpu/a.cpp") == "lib/network/backend/cpu");
  BOOST_TEST(place_of_file("lib/include/cogen/detail/operation.hpp") == "lib/engine/async");
  BOOST_TEST(place_of_file("lib/include/cogen/engine.hpp") == "lib/include");
  BOOST_TEST(place_of_file("lib/include/cogen/token.hpp") == "lib/include");
  BOOST_TEST(place_of_file("cache/include/cogen/cache/view.hpp") == "cache");
  BOOST_TEST(place_of_file("scheduler/include/cogen/scheduler/step.hpp") == "scheduler");
  BOOST_TEST(place_of_file("lib/values/include/cogen/slot_fork.hpp") == "lib/values");
}

BOOST_AUTO_TEST_CASE(calls_go_up_or_down) {
  BOOST_TEST(calls_up("lib/engine/runner/a.cpp", "lib/engine/b.cpp"));
  BOOST_TEST(calls_up("lib/engine/async/a.cpp", "lib/engine/b.cpp"));
  BOOST_TEST(calls_up("lib/network/kernels/a.cpp", "lib/network/model/b.cpp"));
  BOOST_TEST(calls_up("lib/include/cogen/extend/runner.hpp", "lib/engine/b.cpp"));
  BOOST_TEST(calls_up("scheduler/a.cpp", "lib/decoding/b.cpp"));
  BOOST_TEST(!calls_up("lib/engine/b.cpp", "lib/engine/runner/a.cpp"));
  BOOST_TEST(!calls_up("lib/engine/b.cpp", "lib/include/cogen/extend/runner.hpp"));
  BOOST_TEST(!calls_up("lib/engine/a.cpp", "lib/engine/b.cpp"));
  BOOST_TEST(!calls_up("scheduler/a.cpp", "cache/b.cpp"));
}

BOOST_AUTO_TEST_SUITE_END()
