// SPDX-License-Identifier: MIT
// How the rows of weight_sources() are made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ria/weights.h"

namespace ria {

using Sources = std::vector<WeightSource>;

inline constexpr char kApache[] = "Apache-2.0";
inline constexpr char kBsd[] = "BSD-3-Clause";
inline constexpr char kGpl[] = "GPL-3.0";
inline constexpr char kMit[] = "MIT";
inline constexpr char kNoLicence[] = "none stated";

/// A file anyone may fetch.
WeightSource fetched(std::string name,
                     std::string architecture,
                     std::string page,
                     std::string url,
                     std::string licence,
                     std::uint64_t bytes = 0,
                     std::string published_sha256 = "");

/// A file behind a page that asks for a browser.
WeightSource visited(std::string name,
                     std::string architecture,
                     const std::string& page,
                     const std::string& file,
                     std::string licence);

/// The systems of method/systems.cc.
void add_system_sources(Sources& all);

}  // namespace ria
