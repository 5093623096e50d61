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

EVP_MD_CTX* context_of(const std::unique_ptr<void, void (*)(void*)>& context) {
  return static_cast<EVP_MD_CTX*>(context.get());
}

}  // namespace

Sha256::Sha256()
    : context_(EVP_MD_CTX_new(),
               [](void* made) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(made)); }) {
  EVP_DigestInit_ex(context_of(context_), EVP_sha256(), nullptr);
}

void Sha256::add(std::span<const std::uint8_t> bytes) {
  EVP_DigestUpdate(context_of(context_), bytes.data(), bytes.size());
}

void Sha256::add_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read " + file.string() + ": " + std::strerror(errno));
  }
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    add({reinterpret_cast<const std::uint8_t*>(block.data()),
         static_cast<std::size_t>(in.gcount())});
  }
  if (in.bad()) throw std::runtime_error("cannot read " + file.string() + ": reading failed");
}

std::string Sha256::hex() const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> copy(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  EVP_MD_CTX_copy_ex(copy.get(), context_of(context_));
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(copy.get(), digest, &length);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_file(const std::filesystem::path& file) {
  Sha256 sha;
  sha.add_file(file);
  return sha.hex();
}

std::string sha256_bytes(std::span<const std::uint8_t> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.hex();
}

std::string sha256_text(std::string_view text) {
  return sha256_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace ria
