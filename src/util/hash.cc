// SPDX-License-Identifier: MIT
#include "util/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ria {

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(const void* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &length);
    std::string text;
    for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read " + file.string() + ": " + std::strerror(errno));
  }
  Sha256 sha;
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    sha.add(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  return sha.hex();
}

std::string sha256_bytes(std::span<const std::uint8_t> bytes) {
  Sha256 sha;
  sha.add(bytes.data(), bytes.size());
  return sha.hex();
}

std::string sha256_text(std::string_view text) {
  return sha256_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace ria
