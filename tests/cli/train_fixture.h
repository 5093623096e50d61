// SPDX-License-Identifier: MIT
// Short runs of `ria train` on a rendered street.
#pragma once

#include <thread>

#include "cli/fixture.h"
#include "support/random_network.h"
#include "tensor/safetensors.h"

namespace ria::cli_test {

using std::chrono::milliseconds;

inline constexpr char kPlugin[] = RIA_BINARY_DIR "/libria-torch.so";

/// A street of 12 places that were seen twice, rendered once a process.
inline const fs::path& rendered_street() {
  static const TemporaryFolder folder;
  static const fs::path street = [] {
    SimulateOptions options;
    options.places = 12;
    options.spacing = 30;
    options.height = 60;
    options.width = 80;
    simulate(folder / "street", options);
    return folder / "street";
  }();
  return street;
}

class TrainTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (!fs::exists(kPlugin)) GTEST_SKIP() << "ria was built without LibTorch";
    fs::create_directory_symlink(rendered_street(), folder_ / "street");
    RandomNetwork network(0, false, true);
    TensorMap tensors;
    for (const auto& [name, tensor] : network.tensors()) {
      tensors[name.substr(RandomNetwork::stored("").size())] = tensor;
    }
    write_safetensors(folder_ / "tiny.safetensors", tensors);
    at_.env["OMP_NUM_THREADS"] = "1";
  }

  /// The flags of a short run, but for --out.
  Args flags() const {
    return {"train",
            "--train_folder",
            "street",
            "--backbone",
            "dinov2",
            "--weights",
            "tiny.safetensors",
            "--d",
            "8",
            "--heads",
            "2",
            "--mlp",
            "12",
            "--unfreeze",
            "1",
            "--image_size",
            "56",
            "--eval_image_size",
            "56",
            "--places_per_batch",
            "6",
            "--pictures_per_place",
            "2",
            "--augment",
            "none",
            "--epochs",
            "4",
            "--head_lr",
            "3e-3",
            "--lr",
            "1e-3",
            "--num_threads",
            "1"};
  }
  /// The same with other values: pairs of a flag and its value.
  static Args changed(Args args, const Args& pairs) {
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const auto found = std::find(args.begin(), args.end(), pairs[i]);
      if (found == args.end()) {
        args.insert(args.end(), {pairs[i], pairs[i + 1]});
      } else {
        *std::next(found) = pairs[i + 1];
      }
    }
    return args;
  }
  Args to(const std::string& out) const { return flags() + Args{"--out", out}; }
  Args validated(const std::string& out) const {
    return to(out) + Args{"--val_database_folder",
                          "street/database",
                          "--val_queries_folder",
                          "street/queries"};
  }

  std::string bytes(const std::string& name) const { return read_text(folder_ / name); }

  /// The column of log.csv, steps only.
  std::vector<double> column(const std::string& run, std::size_t number) const {
    std::vector<double> values;
    for (const std::string& line : lines(bytes(run + "/log.csv"))) {
      std::vector<std::string> fields;
      std::istringstream in(line);
      for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
      if (fields[0] == "step" || fields[0] == "0" || fields.size() <= number) continue;
      values.push_back(std::stod(fields[number]));
    }
    return values;
  }

  /// Starts a run, waits for its checkpoint to hold so many bytes of log, and ends it by a signal.
  int ended_by(int signal_number, const Args& args, const std::string& run) {
    Program program(kProgram, args, at_);
    const fs::path log = folder_ / run / "log.csv";
    for (int i = 0; i < 3000 && !program.ended(); ++i) {
      std::error_code none;
      if (fs::exists(log, none) && lines(read_text(log)).size() >= 4) break;
      std::this_thread::sleep_for(milliseconds(5));
    }
    program.send(signal_number);
    return program.wait().exit_code;
  }

  static double mean(const std::vector<double>& values, std::size_t first, std::size_t end) {
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += values.at(i);
    return sum / static_cast<double>(end - first);
  }
};

}  // namespace ria::cli_test
