// SPDX-License-Identifier: MIT
// Krueger's series to the third order of the third flattening.
#include "serve/position.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace ria {

namespace {

constexpr double kFlattening = 1 / 298.257223563, kRadius = 6378137.0, kScale = 0.9996;
constexpr double kEast = 500000, kSouth = 10000000;
constexpr double kN = kFlattening / (2 - kFlattening), kN2 = kN * kN, kN3 = kN2 * kN;
constexpr double kMeridian = kRadius / (1 + kN) * (1 + kN2 / 4 + kN2 * kN2 / 64) * kScale;
constexpr double kAlpha[] = {
    kN / 2 - kN2 * 2 / 3 + kN3 * 5 / 16, kN2 * 13 / 48 - kN3 * 3 / 5, kN3 * 61 / 240};
constexpr double kBeta[] = {
    kN / 2 - kN2 * 2 / 3 + kN3 * 37 / 96, kN2 / 48 + kN3 / 15, kN3 * 17 / 480};
constexpr double kDelta[] = {
    2 * kN - kN2 * 2 / 3 - 2 * kN3, kN2 * 7 / 3 - kN3 * 8 / 5, kN3 * 56 / 15};

constexpr double radians(double degrees) { return degrees * std::numbers::pi / 180; }
constexpr double degrees(double angle) { return angle * 180 / std::numbers::pi; }
double middle(int zone) { return radians(6 * std::abs(zone) - 183); }

}  // namespace

int utm_zone_of(const LatLon& at) {
  const int zone = std::clamp(static_cast<int>(std::floor((at.longitude + 180) / 6)) + 1, 1, 60);
  return at.latitude < 0 ? -zone : zone;
}

std::array<double, 2> to_utm(const LatLon& at, int zone) {
  const double root = 2 * std::sqrt(kN) / (1 + kN);
  const double sine = std::sin(radians(at.latitude));
  const double t = std::sinh(std::atanh(sine) - root * std::atanh(root * sine));
  const double away = radians(at.longitude) - middle(zone);
  const double xi = std::atan2(t, std::cos(away));
  const double eta = std::atanh(std::sin(away) / std::sqrt(1 + t * t));
  double east = eta, north = xi;
  for (int j = 1; j <= 3; ++j) {
    east += kAlpha[j - 1] * std::cos(2 * j * xi) * std::sinh(2 * j * eta);
    north += kAlpha[j - 1] * std::sin(2 * j * xi) * std::cosh(2 * j * eta);
  }
  return {kEast + kMeridian * east, (zone < 0 ? kSouth : 0) + kMeridian * north};
}

LatLon from_utm(double east, double north, int zone) {
  const double xi = (north - (zone < 0 ? kSouth : 0)) / kMeridian, eta = (east - kEast) / kMeridian;
  double xi0 = xi, eta0 = eta;
  for (int j = 1; j <= 3; ++j) {
    xi0 -= kBeta[j - 1] * std::sin(2 * j * xi) * std::cosh(2 * j * eta);
    eta0 -= kBeta[j - 1] * std::cos(2 * j * xi) * std::sinh(2 * j * eta);
  }
  const double chi = std::asin(std::sin(xi0) / std::cosh(eta0));
  double latitude = chi;
  for (int j = 1; j <= 3; ++j) latitude += kDelta[j - 1] * std::sin(2 * j * chi);
  const double away = std::atan2(std::sinh(eta0), std::cos(xi0));
  return {degrees(latitude), degrees(middle(zone) + away)};
}

}  // namespace ria
