// SPDX-License-Identifier: MIT
// Whitenings that scikit-learn fitted, inside torch files.
#include "tensor/pickled_array.h"

#include "support/legacy_torch.h"
#include "support/weights_fixture.h"

namespace ria::weights_test {
namespace {

std::string byte(int value) { return {static_cast<char>(value)}; }

/// numpy.ndarray of these bytes; `shape` and `flag` are opcodes.
std::string array(const std::string& dtype,
                  const std::string& shape,
                  const std::string& fortran,
                  const std::string& bytes) {
  const std::string order = "(K\x03" + text("<") + "NNNK" + byte(0) + "K" + byte(0) + "K" + byte(0);
  const std::string size{
      static_cast<char>(bytes.size() & 0xff), static_cast<char>(bytes.size() >> 8), 0, 0};
  return "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK" + byte(0) + "\x85" + text("b") +
         "\x87R(K\x01" + shape + "cnumpy\ndtype\n" + text(dtype) + "\x89\x88\x87R" + order + "tb" +
         fortran + "B" + size + bytes + "tb";
}

/// A checkpoint of one tensor "w" and a PCA with these fields.
std::string checkpoint(const std::string& class_path, const std::string& fields) {
  const std::string whole = legacy_tensor("torch\nFloatStorage", "N");
  const std::string tensor = whole.substr(2, whole.size() - 3);  // without its start and end
  return legacy_start() + "\x80\x02}(" + text("state_dict") + "}" + text("w") + tensor + "s" +
         text("pca") + "}" + text("Set") + "c" + class_path + "\nPCA\n)\x81}(" + fields + "ubsu." +
         "\x80\x02](" + text("k") + "e." + count(3) +
         std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(Weights, FieldsOfAFittedPcaAreTensors) {
  const std::string fields =
      text("whiten") + "\x88" + text("mean_") + array("f4", "K\x02\x85", "\x89", floats({5, -6})) +
      text("components_") + array("f4", "K\x02K\x03\x86", "\x88", floats({1, 4, 2, 5, 3, 6})) +
      text("names") + array("O8", "K\x02\x85", "\x89", "xxxx");
  for (const std::string path : {"sklearn.decomposition.pca", "sklearn.decomposition._pca"}) {
    const TensorFile file = TensorFile::open(write("x.pt", checkpoint(path, fields)));
    EXPECT_EQ(file.names(),
              (std::vector<std::string>{"pca.Set.components_", "pca.Set.mean_", "w"}));
    EXPECT_EQ(file.at("pca.Set.mean_").floats(), (std::vector<float>{5, -6}));
    // Stored column by column.
    EXPECT_EQ(file.at("pca.Set.components_").shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(file.at("pca.Set.components_").floats(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  // Any other class stays closed.
  EXPECT_EQ(TensorFile::open(write("y.pt", checkpoint("some.package", fields))).names(),
            (std::vector<std::string>{"w"}));
}

TEST_F(Weights, ArraysThatDoNotFitTheirShapeAreLeftOut) {
  const std::string fields = text("mean_") + array("f4", "K\x03\x85", "\x89", floats({5, -6}));
  EXPECT_EQ(
      TensorFile::open(write("x.pt", checkpoint("sklearn.decomposition.pca", fields))).names(),
      (std::vector<std::string>{"w"}));
}

TEST_F(Weights, OneArrayUnderManyNamesIsRefused) {
  const std::string shape = "M" + byte(0) + byte(4) + "\x85";  // 1024
  std::string fields = text("f0") + array("f4", shape, "\x89", floats(std::vector<float>(1024)));
  fields += "q" + byte(9);
  for (int i = 1; i < 50; ++i) fields += text("f" + std::to_string(i)) + "h" + byte(9);
  const fs::path file = write("x.pt", checkpoint("sklearn.decomposition.pca", fields));
  expect_error([&] { TensorFile::open(file); }, "x.pt", "its arrays are shared");
}

}  // namespace
}  // namespace ria::weights_test
