// SPDX-License-Identifier: MIT
// The tensors of a vision transformer by their published names, each checked for its size.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nn/transformer.h"
#include "tensor/tensor.h"
#include "weights/vit_names.h"

namespace ria {

class VitReader {
 public:
  /// `names` as canonical_vit_names() gives them; both must outlive the reader.
  VitReader(const TensorFile& file, const std::map<std::string, std::string>& names)
      : file_(file), names_(names) {}

  std::vector<float> values(const std::string& name, std::int64_t expected) const;
  NormSource norm(const std::string& name, int dim) const;
  LinearSource linear(const std::string& name, int outputs, int inputs) const;
  /// Queries, keys and values as one layer, however the file keeps them.
  LinearSource qkv(const std::string& attention, int dim) const;

  BlockSource block(const VitShape& shape, int number) const;
  /// The adapter on the path beside a block.
  AdapterSource side(const VitShape& shape, int number) const;

  /// Says that the tensors of this prefix were packed: their pages may leave the memory.
  void release(const std::string& prefix) const;

 private:
  bool has(const std::string& name) const { return names_.count(name) != 0; }
  const Tensor& tensor(const std::string& name, std::int64_t expected) const;
  std::function<void(int, float*)> rows(const std::string& name, int outputs, int inputs) const;
  AdapterSource adapter(const std::string& name, int dim, int width, bool branches) const;
  void read_branches(const std::string& name, AdapterSource& adapter) const;

  const TensorFile& file_;
  const std::map<std::string, std::string>& names_;
};

}  // namespace ria
