// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace ria {

/// What the action throws, as text.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ria
