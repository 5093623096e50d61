// SPDX-License-Identifier: MIT
// What a request asks for, taken apart and checked.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "serve/http.h"
#include "serve/tokens.h"

namespace ria {

/// An answer that is an error.
struct HttpError : std::runtime_error {
  HttpError(int code, const std::string& reason) : std::runtime_error(reason), status(code) {}
  int status;
};

/// A path and a query, decoded.
struct Target {
  std::vector<std::string> path;  ///< between the slashes: none of them is "." or ".."
  std::map<std::string, std::string> query;
};

/// Throws HttpError 400 for what is no target.
Target parse_target(const std::string& target);

/// A request with its parameters, wherever they stand: in the path, the query or the form.
class Asked {
 public:
  Asked(const HttpRequest& request, Target target, Right right)
      : request_(request), target_(std::move(target)), right_(right) {}

  const HttpRequest& request() const { return request_; }
  const std::vector<std::string>& path() const { return target_.path; }
  Right right() const { return right_; }

  /// Empty: it was not said.
  std::string text(const std::string& name) const;
  /// NaN: it was not said. Throws HttpError 400 naming the parameter, as all that follow.
  double number(const std::string& name) const;
  int integer(const std::string& name, int otherwise, int least, int most) const;
  bool flag(const std::string& name) const;
  /// Comma-separated, so many of them.
  std::optional<std::vector<double>> numbers(const std::string& name, std::size_t count) const;
  /// Refuses parameters that are none of these: a mistyped one would be passed over.
  void only(const std::vector<std::string>& names) const;

 private:
  const HttpRequest& request_;
  Target target_;
  Right right_;
};

/// A whole number from 0 up, as ids are; nothing where the text is anything else.
std::optional<int> parse_id(const std::string& text);

}  // namespace ria
