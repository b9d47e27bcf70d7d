#include "readers.hpp"

#include "load/gguf.hpp"
#include "load/read_model_config.hpp"
#include "load/safetensors.hpp"
#include "memory_file.hpp"
#include "shards.hpp"

#include <cogen/load/checkpoint.hpp>

#include <algorithm>
#include <vector>

using namespace cogen::load;

namespace {

template <class Action>
void swallowing_refusals(Action action) {
  try {
    action();
  } catch (const load_error&) {
  }
}

void read_everything(const tensor_file& file) {
  for (const auto& tensor : file.tensors()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
    file.read(tensor, 0, bytes);
  }
}

void read_as_floats(const checkpoint& files, const std::string& name) {
  const auto w = files.find(name);
  if (!w) return;
  std::vector<float> values(static_cast<std::size_t>(w->rows() * w->columns()));
  w->read_rows_as_float(0, w->rows(), values);
  const auto middle = w->rows() / 2;
  w->read_rows_as_float(middle, w->rows(),
                        std::span(values).first(static_cast<std::size_t>((w->rows() - middle) * w->columns())));
}

}  // namespace

void read_as_gguf(std::string_view bytes) {
  static memory_file file;
  file.assign(bytes);
  swallowing_refusals([] { read_everything(gguf_file(file.path())); });
  swallowing_refusals([] {
    const checkpoint files(file.path());
    swallowing_refusals([&] { files.config(); });
    swallowing_refusals([&] { files.tokenizer(); });
    for (const auto& name : files.weight_names()) swallowing_refusals([&] { read_as_floats(files, name); });
  });
}

void read_as_safetensors(std::string_view bytes) {
  static memory_file file;
  file.assign(bytes);
  swallowing_refusals([] { read_everything(safetensors_file(file.path())); });
}

void read_as_shard_index(std::string_view bytes) {
  static const temporary_folder folder;
  static const bool written = (write_shards(folder), true);
  if (written) folder.write(shard_index_name, bytes);
  swallowing_refusals([] { read_everything(safetensors_folder(folder.path())); });
}

void read_as_config(std::string_view bytes) {
  swallowing_refusals([&] {
    const auto fields = config_fields::from_json(bytes, "config.json");
    auto config = read_model_config(fields);
    read_generation_config(fields, config);
  });
}
