// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "ria/weights.h"

namespace ria {

/// Fetches `url` to `target`, which appears only when it is whole and its sha256 begins with
/// `options.sha256`. Until then the bytes are in TARGET.partial, and TARGET.partial.json says which
/// file they are the beginning of, so that the next call goes on. Of the options, url and keep are
/// not looked at.
void download_file(const std::string& url,
                   const std::filesystem::path& target,
                   const DownloadOptions& options);

}  // namespace ria
