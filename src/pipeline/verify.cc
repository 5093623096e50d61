// SPDX-License-Identifier: MIT
#include "ria/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "pipeline/over_pictures.h"
#include "ria/eigen.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

/// One run of compare_precisions().
class Comparison {
 public:
  Comparison(const Recognizer& a,
             const Recognizer& b,
             const std::vector<fs::path>& pictures,
             const RunOptions& run)
      : a_(a), b_(b), pictures_(pictures), run_(run), found_(pictures.size()) {}

  PrecisionComparison compare() {
    over_pictures(
        total(), run_.num_threads, [this](int i) { compare_one(i); }, run_.stop);
    if (run_.stop.stop_requested() && done_ < total()) throw Interrupted(done_, total());
    return summary();
  }

 private:
  int total() const { return static_cast<int>(pictures_.size()); }

  std::string name_of(const fs::path& picture) const {
    if (run_.names_relative_to.empty()) return picture.string();
    return picture.lexically_proximate(run_.names_relative_to).generic_string();
  }

  void compare_one(int i) {
    try {
      found_[i] = agreement(pictures_[i]);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::runtime_error& error) {
      const std::lock_guard lock(mutex_);
      failures_.push_back({i, pictures_[i].string(), error.what()});
    }
    const std::lock_guard lock(mutex_);
    ++done_;
    if (run_.progress) run_.progress(done_, total());
  }

  PictureAgreement agreement(const fs::path& picture) const {
    const Image image = load_image(picture, a_.preprocessing().load);
    const PatchFeatures of_a = a_.backbone().extract(preprocess(image, a_.preprocessing()));
    const PatchFeatures of_b = b_.backbone().extract(preprocess(image, b_.preprocessing()));
    if (of_a.patches.rows() != of_b.patches.rows() || of_a.patches.cols() != of_b.patches.cols()) {
      throw std::invalid_argument(
          fmt::format("{}: {} patches of {} values and {} of {} cannot be "
                      "compared",
                      picture.string(),
                      of_a.patches.rows(),
                      of_a.patches.cols(),
                      of_b.patches.rows(),
                      of_b.patches.cols()));
    }
    PictureAgreement out{name_of(picture), 0, 1, 0};
    for (int row = 0; row < of_a.patches.rows(); ++row) {
      const double one = cosine(of_a.patches.row(row), of_b.patches.row(row));
      out.patches_mean += one / of_a.patches.rows();
      out.patches_worst = std::min(out.patches_worst, one);
    }
    // A fitted projection has signs and an order of its own: one head for both.
    const Recognizer& head_of_b = a_.fitted().empty() ? b_ : a_;
    out.descriptor =
        cosine(a_.aggregator().aggregate(of_a), head_of_b.aggregator().aggregate(of_b));
    return out;
  }

  PrecisionComparison summary() {
    PrecisionComparison all;
    for (const std::optional<PictureAgreement>& one : found_) {
      if (one) all.pictures.push_back(*one);
    }
    std::sort(failures_.begin(), failures_.end(), [](const Failure& x, const Failure& y) {
      return x.picture < y.picture;
    });
    all.failures = failures_;
    if (all.pictures.empty()) return all;
    all.patches_worst = all.descriptor_worst = 1;
    for (const PictureAgreement& one : all.pictures) {
      all.patches_mean += one.patches_mean / static_cast<double>(all.pictures.size());
      all.descriptor_mean += one.descriptor / static_cast<double>(all.pictures.size());
      all.patches_worst = std::min(all.patches_worst, one.patches_worst);
      all.descriptor_worst = std::min(all.descriptor_worst, one.descriptor);
    }
    return all;
  }

  const Recognizer& a_;
  const Recognizer& b_;
  const std::vector<fs::path>& pictures_;
  const RunOptions& run_;
  std::vector<std::optional<PictureAgreement>> found_;
  std::vector<Failure> failures_;
  std::mutex mutex_;
  int done_ = 0;
};

}  // namespace

double cosine(std::span<const float> a, std::span<const float> b) {
  const auto x = as_eigen(a).cast<double>(), y = as_eigen(b).cast<double>();
  const double norms = x.norm() * y.norm();
  if (norms == 0) return x.isZero(0) && y.isZero(0) ? 1 : 0;
  return std::clamp(x.dot(y) / norms, -1.0, 1.0);
}

PrecisionComparison compare_precisions(const std::string& method,
                                       const MethodOptions& a,
                                       const MethodOptions& b,
                                       const std::vector<fs::path>& pictures,
                                       const RunOptions& run) {
  Recognizer first(method, a);
  const Recognizer second(method, b);
  RunOptions fitting = run;
  fitting.progress = nullptr;
  first.fit(pictures, fitting);
  return Comparison(first, second, pictures, run).compare();
}

}  // namespace ria
