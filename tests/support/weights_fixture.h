// SPDX-License-Identifier: MIT
// What the tests of weight files share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "archive/bytes.h"
#include "ria/weights.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "tensor/tensor.h"
#include "util/files.h"

namespace ria::weights_test {

namespace fs = std::filesystem;

class Weights : public ::testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_ / name; }

  fs::path write(const std::string& name, const std::string& bytes) const {
    return spill(file(name), bytes);
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

/// The error must be one line, name the file and hold the words.
inline void expect_error(const std::function<void()>& action,
                         const std::string& file,
                         const std::string& words) {
  try {
    action();
    ADD_FAILURE() << "no error, expected: " << words;
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text.find(file), std::string::npos) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
}

inline void expect_open_error(const fs::path& file, const std::string& words) {
  expect_error([&] { TensorFile::open(file); }, file.string(), words);
}

/// A file that is in memory only, for tests that damage one byte after the other.
inline TensorFile open_bytes(const std::string& bytes) {
  return TensorFile::read("in_memory", MappedFile::from_memory({bytes.begin(), bytes.end()}));
}

inline bool same_tensors(const TensorMap& a, const TensorMap& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && x.second.dtype == y.second.dtype &&
                  x.second.shape == y.second.shape &&
                  std::equal(x.second.bytes.begin(),
                             x.second.bytes.end(),
                             y.second.bytes.begin(),
                             y.second.bytes.end());
         });
}

inline TensorMap sample_tensors() {
  TensorMap tensors;
  tensors["b.flag"] = make_tensor(DType::BOOL, {3}, {1, 0, 1});
  tensors["a.weight"] = make_tensor({2, 3}, {1.5f, -2, 3, 4, 5, 6});
  tensors["c.empty"] = make_tensor({0, 4}, {});
  tensors["d.scalar"] = make_tensor({}, {7});
  tensors["e.count"] =
      make_tensor(DType::I64, {1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  return tensors;
}

}  // namespace ria::weights_test
