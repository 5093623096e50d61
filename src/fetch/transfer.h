// SPDX-License-Identifier: MIT
// One HTTP request, carried out by the plugin of libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

namespace ria {

struct TransferRequest {
  std::string url;           ///< http or https
  std::uint64_t offset = 0;  ///< first byte asked for
  std::string validator;     ///< with an offset: the ETag or date the part before it had
  int stall_seconds = 30;
  int redirects = 10;
  std::stop_token stop;
};

/// What the server says before the first byte.
struct TransferHead {
  int status = 0;           ///< 200: the whole file; 206: a part
  std::uint64_t start = 0;  ///< first byte of the part
  std::uint64_t total = 0;  ///< bytes of the whole file; 0: not said
  std::string validator;    ///< a strong ETag, else the date of change; empty: neither
};

enum class TransferEnd {
  kWhole,
  kBroken,       ///< worth another attempt
  kUnreachable,  ///< no such host, or nobody listens
  kRefused,      ///< another attempt would end in the same way
  kStopped,
};

struct TransferResult {
  TransferEnd end = TransferEnd::kWhole;
  int status = 0;      ///< of the last answer; 0: none came
  std::string reason;  ///< one line, unless kWhole
};

/// Comes once before all bytes, and only for status 200 and 206; false breaks off.
using OnTransferHead = std::function<bool(const TransferHead&)>;
using OnTransferBytes = std::function<void(std::span<const std::uint8_t>)>;

/// What the callbacks throw is thrown here.
TransferResult transfer(const TransferRequest& request,
                        const OnTransferHead& on_head,
                        const OnTransferBytes& on_bytes);

/// What libria-curl.so offers: transfer(), but for reasons that may hold anything a server said.
struct CurlFunctions {
  TransferResult (*transfer)(const TransferRequest&, const OnTransferHead&, const OnTransferBytes&);
};

}  // namespace ria
