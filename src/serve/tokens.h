// SPDX-License-Identifier: MIT
// Who may read and who may write.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ria {

enum class Right { kNone, kRead, kWrite };

class Tokens {
 public:
  /// Everyone may write.
  Tokens() = default;
  /// Lines `read TOKEN` and `write TOKEN`; '#' begins a comment. Throws std::runtime_error naming
  /// file and line.
  explicit Tokens(const std::filesystem::path& file);

  bool open_to_all() const { return known_.empty(); }
  /// Of the header `Authorization`. The time it takes says nothing of the tokens.
  Right right_of(const std::string& authorization) const;

 private:
  struct Known {
    std::string sha256;
    Right right;
  };
  std::vector<Known> known_;
};

}  // namespace ria
