// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ria/recognizer.h"
#include "ria/train.h"

namespace ria::cli {

/// Progress on standard error with rate and time left: one line that redraws itself on a terminal,
/// a plain line now and then elsewhere.
ProgressCallback progress_line(const std::string& label);

/// The same for bytes; a total of 0 is not known.
std::function<void(std::uint64_t done, std::uint64_t total)> byte_progress_line(
    const std::string& label);

/// The same for training: loss, recall, pictures/s and the time left.
std::function<void(const TrainProgress&)> training_line();

/// A new line if the cursor stands behind progress on a terminal, else nothing: what a message must
/// begin with.
const char* progress_line_end();

/// "346.4 MB"
std::string byte_count(std::uint64_t bytes);

/// Columns of the terminal, or 100 where there is none.
int terminal_width();

}  // namespace ria::cli
