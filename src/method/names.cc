// SPDX-License-Identifier: MIT
// How enumerators are spelt in flags and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "ria/method.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<std::string_view, Enum>, N>;

constexpr Names<Estimator, 4> kEstimators{{{"sample", Estimator::kSample},
                                           {"recov", Estimator::kRecov},
                                           {"ledoit_wolf", Estimator::kLedoitWolf},
                                           {"oas", Estimator::kOas}}};
constexpr Names<Mapping, 5> kMappings{{{"newton_schulz", Mapping::kNewtonSchulz},
                                       {"power", Mapping::kPower},
                                       {"log_euclidean", Mapping::kLogEuclidean},
                                       {"log_euclidean_centred", Mapping::kLogEuclideanCentred},
                                       {"identity", Mapping::kIdentity}}};
constexpr Names<GemSign, 3> kGemSigns{{{"preserve", GemSign::kPreserve},
                                       {"clamp", GemSign::kClamp},
                                       {"absolute", GemSign::kAbsolute}}};
constexpr Names<Resize, 8> kResizes{{{"pil_bilinear", Resize::kPilBilinear},
                                     {"pil_bicubic", Resize::kPilBicubic},
                                     {"pil_lanczos", Resize::kPilLanczos},
                                     {"tensor_bilinear", Resize::kTensorBilinear},
                                     {"tensor_bilinear_aa", Resize::kTensorBilinearAa},
                                     {"tensor_bicubic", Resize::kTensorBicubic},
                                     {"tensor_bicubic_aa", Resize::kTensorBicubicAa},
                                     {"tensor_nearest", Resize::kTensorNearest}}};
constexpr Names<Precision, 3> kPrecisions{
    {{"fp32", Precision::kFp32}, {"int8", Precision::kInt8}, {"bf16", Precision::kBf16}}};
constexpr Names<Facet, 4> kFacets{{{"token", Facet::kToken},
                                   {"query", Facet::kQuery},
                                   {"key", Facet::kKey},
                                   {"value", Facet::kValue}}};
constexpr Names<PositionRule, 3> kPositionRules{
    {{"hub", PositionRule::kHub}, {"hf", PositionRule::kHf}, {"reg", PositionRule::kReg}}};

template <typename Enum, std::size_t N>
std::string name_of(const Names<Enum, N>& names, Enum value) {
  for (const auto& [name, known] : names) {
    if (known == value) return std::string(name);
  }
  throw std::invalid_argument("value without a name");
}

template <typename Enum, std::size_t N>
Enum parse(const Names<Enum, N>& names, const char* what, const std::string& text) {
  std::vector<std::string> known;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    known.emplace_back(name);
  }
  throw std::invalid_argument(unknown_name(what, text, known));
}

}  // namespace

std::string to_string(Estimator estimator) { return name_of(kEstimators, estimator); }
std::string to_string(Mapping mapping) { return name_of(kMappings, mapping); }
std::string to_string(GemSign sign) { return name_of(kGemSigns, sign); }
std::string to_string(Resize resize) { return name_of(kResizes, resize); }
std::string to_string(Precision precision) { return name_of(kPrecisions, precision); }
std::string to_string(Facet facet) { return name_of(kFacets, facet); }
std::string to_string(PositionRule rule) { return name_of(kPositionRules, rule); }
std::string to_string(const Preprocessing& p) {
  const bool standard = p.normalization == Normalization::kStandard;
  return fmt::format("{} {} {}x{} {} {} {} {}{} {}{} {}",
                     to_string(p.resize),
                     static_cast<int>(p.normalization),
                     p.height,
                     p.width,
                     p.longest_side,
                     p.shortest_side,
                     p.min_side,
                     p.multiple,
                     p.round_size ? " rounded" : "",
                     fmt::join(p.mean, " "),
                     standard ? fmt::format(" {}", fmt::join(p.deviation, " ")) : "",
                     p.load.ignore_orientation ? "as stored" : "upright");
}
Estimator parse_estimator(const std::string& name) { return parse(kEstimators, "estimator", name); }
Mapping parse_mapping(const std::string& name) { return parse(kMappings, "mapping", name); }
GemSign parse_gem_sign(const std::string& name) { return parse(kGemSigns, "gem_sign", name); }
Resize parse_resize(const std::string& name) { return parse(kResizes, "resize", name); }
Precision parse_precision(const std::string& name) { return parse(kPrecisions, "precision", name); }
Facet parse_facet(const std::string& name) { return parse(kFacets, "facet", name); }
PositionRule parse_position_rule(const std::string& name) {
  return parse(kPositionRules, "position_rule", name);
}

}  // namespace ria
