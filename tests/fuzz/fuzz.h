// SPDX-License-Identifier: MIT
// What the fuzzers of the readers share. A reader may refuse any bytes, but only by a
// std::runtime_error of one line that names the file; what it accepts must be whole.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "archive/bytes.h"
#include "tensor/tensor.h"

namespace ria::fuzz {

[[noreturn]] inline void report(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}

inline void check(const Tensor& tensor) {
  const auto size = checked_product(tensor.shape, item_size(tensor.dtype));
  if (!size || *size != tensor.bytes.size()) report("a tensor's bytes do not fit its shape");
  if (tensor.floats().size() != tensor.doubles().size()) report("conversions differ in size");
  tensor.release();
}

inline void check(const TensorFile& file) {
  for (const auto& [name, tensor] : file.tensors()) check(tensor);
}

template <typename Read>
int run(const std::uint8_t* data, std::size_t size, const std::filesystem::path& file, Read read) {
  try {
    read(MappedFile::from_memory({data, data + size}));
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    if (text.find('\n') != std::string::npos) report("an error of several lines: " + text);
    if (text.find(file.stem().string()) == std::string::npos) {
      report("an error without the file: " + text);
    }
  }
  return 0;
}

}  // namespace ria::fuzz
