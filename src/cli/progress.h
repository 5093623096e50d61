// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ria/recognizer.h"

namespace ria::cli {

/// Progress on standard error with rate and time left: one line that redraws itself on a terminal,
/// a plain line now and then elsewhere.
ProgressCallback progress_line(const std::string& label);

/// Columns of the terminal, or 100 where there is none.
int terminal_width();

}  // namespace ria::cli
