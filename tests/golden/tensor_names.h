// SPDX-License-Identifier: MIT
// Names of the tensors of a weight file.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace ria {

/// Of the first tensor whose name ends like this; empty if there is none.
inline std::string name_ending(const TensorFile& file, const std::string& ending) {
  for (const std::string& name : file.names()) {
    if (name.ends_with(ending)) return name;
  }
  return "";
}

/// The tensors behind a prefix, with another one before them.
inline TensorFile renamed(const TensorFile& file, const std::string& from, const std::string& to) {
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with(from)) tensors[to + name.substr(from.size())] = tensor;
  }
  return {file.path(), file.format(), std::move(tensors), file.metadata()};
}

/// What all names start with, up to a dot: "backbone." or nothing.
inline std::string common_prefix(const TensorFile& file) {
  const std::vector<std::string> names = file.names();
  if (names.empty()) return "";
  const std::string &first = names.front(), &last = names.back();  // sorted
  const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const std::string common(first.begin(), differ);
  return common.substr(0, common.rfind('.') + 1);
}

}  // namespace ria
