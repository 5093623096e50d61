// SPDX-License-Identifier: MIT
#include "fetch/transfer.h"

#include "archive/bytes.h"
#include "util/plugin.h"

namespace ria {

TransferResult transfer(const TransferRequest& request,
                        const OnTransferHead& on_head,
                        const OnTransferBytes& on_bytes) {
  const auto& curl = plugin<CurlFunctions>(
      {"curl", "downloading " + request.url, "libcurl", "apt-get install libcurl4"});
  TransferResult result = curl.transfer(request, on_head, on_bytes);
  result.reason = printable(result.reason);
  return result;
}

}  // namespace ria
