// SPDX-License-Identifier: MIT
#include "serve/tokens.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "util/files.h"
#include "util/hash.h"

namespace ria {

namespace {

constexpr std::size_t kShortest = 16;  // characters; less can be guessed

/// Of two hashes: all of both is looked at, whatever differs.
bool same(const std::string& a, const std::string& b) {
  unsigned differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differ == 0;
}

}  // namespace

Tokens::Tokens(const std::filesystem::path& file) {
  std::istringstream lines(read_text(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string right, token, more;
    if (!(words >> right)) continue;
    words >> token;
    if ((right != "read" && right != "write") || token.size() < kShortest || words >> more) {
      throw std::runtime_error(
          fmt::format("{}:{}: 'read TOKEN' or 'write TOKEN' was expected, with a token of at least "
                      "{} characters",
                      file.string(),
                      number,
                      kShortest));
    }
    known_.push_back({sha256_text(token), right == "write" ? Right::kWrite : Right::kRead});
  }
  if (known_.empty()) {
    throw std::runtime_error(fmt::format("{} has no token: nobody could ask", file.string()));
  }
}

Right Tokens::right_of(const std::string& authorization) const {
  if (known_.empty()) return Right::kWrite;
  constexpr std::string_view kScheme = "Bearer ";
  const bool bearer = authorization.starts_with(kScheme);
  const std::string given =
      sha256_text(bearer ? std::string_view(authorization).substr(kScheme.size()) : "");
  Right right = Right::kNone;
  for (const Known& one : known_) {
    if (same(given, one.sha256) && one.right > right) right = one.right;
  }
  return right;
}

}  // namespace ria
