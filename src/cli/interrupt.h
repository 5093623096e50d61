// SPDX-License-Identifier: MIT
// Ctrl-C as a request to stop between two pictures; a second one ends the program at once.
#pragma once

#include <stop_token>

namespace ria::cli {

std::stop_token stop_on_interrupt();

}  // namespace ria::cli
