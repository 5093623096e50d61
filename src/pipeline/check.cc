// SPDX-License-Identifier: MIT
#include "ria/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "method/random_weights.h"
#include "pipeline/maker.h"
#include "ria/eigen.h"
#include "util/stopwatch.h"

namespace ria {

namespace {

/// A picture with large and small structure, so that patches differ.
Image made_up_picture(int side) {
  Image image{side, side, std::vector<std::uint8_t>(3 * static_cast<std::size_t>(side) * side)};
  std::minstd_rand noise(7);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(x * 0.05 * (c + 1)) + std::cos(y * 0.03 * (3 - c));
        const double value = 128 + 40 * wave + static_cast<int>(noise() % 41) - 20;
        image.rgb[(static_cast<std::size_t>(y) * side + x) * 3 + c] =
            static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return image;
}

/// Centres for the methods that would fit them.
Fitted made_up_vocabulary(const Method& method) {
  if (!needs_vocabulary(method)) return {};
  const int clusters = resolve_options(method, {}).vlad.clusters;
  const int dim = method.dim / clusters;
  std::minstd_rand engine(11);
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(dim)));
  Matrix centres(clusters, dim);
  for (float& value : centres.values()) value = normal(engine);
  return {{kCentres, centres}, {kSharpness, Matrix(1, 1, 10.0f)}};
}

MethodOptions picture_options(const Method& method, const CheckOptions& options) {
  MethodOptions asked;
  const int side = options.side > 0 ? options.side : 224;
  // MixVPR's weights have the size of its pictures in them.
  const bool own_size = method.own.image_height > 0;
  if (method.aggregator == "mixvpr" || (own_size && !options.all_alike)) return asked;
  asked.image_height = asked.image_width = side;
  return asked;
}

/// Seconds of the faster round of each step, and the descriptors of the first two.
void run(const Recognizer& recognizer, const Pixels& pixels, int rounds, MethodCheck& check) {
  Descriptor first;
  check.backbone_seconds = check.aggregate_seconds = 1e30;
  check.same_bits = true;
  for (int round = 0; round < rounds; ++round) {
    Stopwatch watch;
    const PatchFeatures features = recognizer.backbone().extract(pixels);
    check.backbone_seconds = std::min(check.backbone_seconds, watch.seconds());
    const Descriptor descriptor = recognizer.aggregator().aggregate(features);
    check.aggregate_seconds = std::min(check.aggregate_seconds, watch.seconds());
    if (round == 0) first = descriptor;
    check.same_bits = check.same_bits && descriptor == first;
  }
  check.dim = static_cast<int>(first.size());
  check.finite = as_eigen(first).allFinite();
  check.norm = as_eigen(first).cast<double>().norm();
}

MethodCheck check_one(const Method& method, const CheckOptions& options) {
  MethodCheck check;
  check.method = method.name;
  check.expected_dim = method.dim;
  try {
    const TensorFile weights = random_weights(method);
    const auto recognizer = RecognizerMaker::from_tensors(
        {&method, picture_options(method, options)}, weights, made_up_vocabulary(method));
    const Image picture = made_up_picture(options.side > 0 ? options.side : 224);
    run(*recognizer, preprocess(picture, recognizer->preprocessing()), options.rounds, check);
  } catch (const std::exception& error) {
    check.error = error.what();
  }
  return check;
}

}  // namespace

bool MethodCheck::good() const {
  return error.empty() && dim == expected_dim && finite && same_bits && std::abs(norm - 1) < 1e-5;
}

void CheckOptions::validate() const {
  if (side < 0)
    throw std::invalid_argument(fmt::format("side is {}, 0 or more was expected", side));
  if (rounds < 2) {
    throw std::invalid_argument(fmt::format("rounds is {}, at least 2 was expected", rounds));
  }
}

std::vector<MethodCheck> check_methods(const std::vector<std::string>& names,
                                       const CheckOptions& options) {
  options.validate();
  std::vector<const Method*> chosen;
  for (const std::string& name : names) chosen.push_back(&find_method(name));
  if (names.empty()) {
    for (const Method& method : methods()) chosen.push_back(&method);
  }
  std::vector<MethodCheck> checks;
  for (const Method* method : chosen) {
    if (options.stop.stop_requested()) break;
    checks.push_back(check_one(*method, options));
    if (options.progress) options.progress(checks.back());
  }
  return checks;
}

}  // namespace ria
