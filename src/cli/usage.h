// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ria::cli {

/// What is wrong with the command line, in one line: the word, what it was probably meant to be,
/// and what was expected.
std::string usage_text(const CLI::App& program, const CLI::ParseError& error);

}  // namespace ria::cli
