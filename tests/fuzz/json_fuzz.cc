// SPDX-License-Identifier: MIT
// tfjs model.json and model.safetensors.index.json; the seeds' shards lie beside the input.
#include <unistd.h>

#include <fstream>

#include "fuzz.h"
#include "tensor/safetensors.h"

namespace {

/// A folder of this process with the shards the seeds name.
std::filesystem::path make_folder() {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ria_fuzz_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "group1-shard1of1.bin", std::ios::binary) << std::string(40, 'x');
  ria::write_safetensors(folder / "a.safetensors", {{"w", ria::make_tensor({2}, {1.0f, 2.0f})}});
  return folder;
}

struct Folder {
  const std::filesystem::path path = make_folder();
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::filesystem::path file = folder.path / "model.json";
  if (size == 0 || data[0] != '{') return 0;
  // Errors may name a shard instead; both are in the folder.
  return ria::fuzz::run(data, size, folder.path, [&](const auto& mapping) {
    ria::fuzz::check(ria::TensorFile::read(file, mapping));
  });
}
