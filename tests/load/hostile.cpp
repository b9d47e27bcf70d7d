#include "../repetitions.hpp"
#include "allocation_watch.hpp"
#include "readers.hpp"
#include "safetensors_draft.hpp"
#include "split_model.hpp"
#include "tiny_model.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace {

// What a reader may ask for at once while it reads a file of a few kilobytes: its buffers, and a few times the file.
constexpr std::size_t largest_allowed = 1 << 19;

std::string small_safetensors() {
  const auto header = R"({"__metadata__":{"format":"pt"},)" + tensor_entry("a", "F32", "2,2", 0, 16) + "," +
                      tensor_entry("b", "F16", "3", 16, 22) + "}  ";
  return safetensors_bytes(header, std::string(22, '\1'));
}

// A module of each kind that quantized folders hold.
std::string quantized_safetensors() {
  std::string header, data;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view shape, const std::string& bytes) {
    header += (header.empty() ? "" : ",") + tensor_entry(name, type, shape, data.size(), data.size() + bytes.size());
    data += bytes;
  };
  const std::string ones = raw(1.0F), two_words = raw(std::int64_t{2}) + raw(std::int64_t{32});
  add("a.weight", "F8_E4M3", "2,128", std::string(256, '\x38'));
  add("a.weight_scale_inv", "F32", "1,1", ones);
  add("b.weight", "I8", "1,32", std::string(32, '\3'));
  add("b.weight_scale", "F32", "1,1", ones);
  add("b.weight_zero_point", "I8", "1,1", std::string(1, '\1'));
  add("c.weight_packed", "I32", "2,4", std::string(32, '\x98'));
  add("c.weight_scale", "F32", "2,1", ones + ones);
  add("c.weight_shape", "I64", "2", two_words);
  add("c.weight_zero_point", "I32", "1,1", std::string(4, '\x77'));
  add("d.weight_packed", "U8", "1,16", std::string(16, '\x21'));
  add("d.weight_scale", "F8_E4M3", "1,2", std::string(2, '\x38'));
  add("d.weight_global_scale", "F32", "1", ones);
  add("e.weight", "U8", "1,16", std::string(16, '\x21'));
  add("e.weight_scale", "U8", "1,1", std::string(1, '\x7F'));
  add("f.qweight", "I32", "4,8", std::string(128, '\x98'));
  add("f.qzeros", "I32", "1,1", std::string(4, '\x77'));
  add("f.scales", "F32", "1,8", ones + ones + ones + ones + ones + ones + ones + ones);
  add("f.g_idx", "I32", "32", std::string(128, '\0'));
  add("g.qweight", "I32", "32,1", std::string(128, '\x98'));
  add("g.qzeros", "I32", "1,1", std::string(4, '\x77'));
  add("g.scales", "F32", "1,8", ones + ones + ones + ones + ones + ones + ones + ones);
  return safetensors_bytes("{" + header + "}", data);
}

std::string hostile_config() {
  return R"({"model_type":"llama","vocab_size":4,"hidden_size":8,"intermediate_size":3,"num_hidden_layers":1,)"
         R"("num_attention_heads":2,"eos_token_id":[1,2],"rope_theta":1e4,)"
         R"("rope_scaling":{"rope_type":"yarn","factor":2.0}})";
}

using reader = void (*)(std::string_view);

void read_every_prefix(const std::string& bytes, reader read) {
  const allocation_watch watch;
  for (std::size_t size = 0; size < bytes.size(); ++size) read(std::string_view(bytes).substr(0, size));
  BOOST_TEST(watch.largest() <= largest_allowed);
}

void read_with_every_byte_changed(std::string bytes, std::size_t end, reader read) {
  const allocation_watch watch;
  for (std::size_t i = 0; i < std::min(end, bytes.size()); ++i) {
    const char kept = bytes[i];
    for (const int changed : cogen::test::thin({0x00, 0xFF, 0x7F, 0x80, kept + 1, kept - 1, kept ^ 0x20}, 3)) {
      bytes[i] = static_cast<char>(changed);
      read(bytes);
    }
    bytes[i] = kept;
  }
  BOOST_TEST(watch.largest() <= largest_allowed);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile_files)

BOOST_AUTO_TEST_CASE(every_prefix_is_refused_or_read_in_little_memory) {
  read_every_prefix(tiny_llama().bytes(), read_as_gguf);
  read_every_prefix(split(tiny_llama(), 2, 5)[1].bytes(), read_as_gguf_parts);
  read_every_prefix(small_safetensors(), read_as_safetensors);
  read_every_prefix(quantized_safetensors(), read_as_safetensors);
  read_every_prefix(hostile_config(), read_as_config);
}

BOOST_AUTO_TEST_CASE(every_changed_byte_is_refused_or_read_in_little_memory) {
  const auto model = tiny_llama();
  read_with_every_byte_changed(model.bytes(), model.bytes().size() - model.data.size(), read_as_gguf);
  for (const auto& part : split(model, 2, 5))
    read_with_every_byte_changed(part.bytes(), part.bytes().size() - part.data.size(), read_as_gguf_parts);
  read_with_every_byte_changed(small_safetensors(), small_safetensors().size(), read_as_safetensors);
  read_with_every_byte_changed(quantized_safetensors(), quantized_safetensors().size(), read_as_safetensors);
  read_with_every_byte_changed(hostile_config(), hostile_config().size(), read_as_config);
}

BOOST_AUTO_TEST_SUITE_END()
