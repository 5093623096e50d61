// SPDX-License-Identifier: MIT
// A step of a large network takes minutes; who asks to stop does not wait for it.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>

#include "train/checkpoint.h"

namespace ria {

/// Saves checkpoints; a stop asked in the middle of a step saves the one that was armed before it,
/// on the thread that asks.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path file, std::stop_token stop)
      : file_(std::move(file)), callback_(std::move(stop), Save{this}) {}

  void save(const Checkpoint& checkpoint) {
    const std::lock_guard lock(mutex_);
    save_checkpoint(file_, checkpoint);
    armed_.reset();
  }
  /// What a stop would save from here on.
  void arm(Checkpoint checkpoint) {
    const std::lock_guard lock(mutex_);
    armed_ = std::move(checkpoint);
  }

 private:
  struct Save {
    CheckpointWriter* writer;
    void operator()() const noexcept {
      const std::lock_guard lock(writer->mutex_);
      if (!writer->armed_) return;
      try {
        save_checkpoint(writer->file_, *writer->armed_);
      } catch (const std::exception&) {
        // The last one stays; the run ends all the same.
      }
    }
  };

  std::filesystem::path file_;
  std::mutex mutex_;
  std::optional<Checkpoint> armed_;
  std::stop_callback<Save> callback_;  // last: it uses all above
};

}  // namespace ria
