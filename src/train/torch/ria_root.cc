// SPDX-License-Identifier: MIT
#include "train/torch/ria_root.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

namespace ria {

namespace {

/// Positions of the vector's values in a d x d matrix, and what each is multiplied by.
struct Triangle {
  Tensor positions, factors;
  Triangle(std::int64_t d, const at::TensorOptions& options) {
    std::vector<std::int64_t> at(d * (d + 1) / 2);
    std::int64_t end = d;
    for (std::int64_t i = 0; i < d; ++i) {
      at[i] = i * d + i;
      for (std::int64_t j = i + 1; j < d; ++j) at[end++] = i * d + j;
    }
    positions = at::tensor(at, at::kLong).to(options.device());
    factors = at::full({end}, std::sqrt(2.0), options);
    factors.slice(0, 0, d).fill_(1);
  }
};

/// A whole forward of one matrix, with what its backward needs. Everything is symmetric, and so is
/// every gradient: an upstream one that is not may be replaced by its symmetric part.
class OneRoot {
 public:
  OneRoot(std::int64_t n, std::int64_t d, const at::TensorOptions& options, const RootOptions& root)
      : n_(n), root_(root), identity_(at::eye(d, options)), centred_(at::empty({n, d}, options)) {
    y_.resize(root.iterations + 1);
    z_.resize(root.iterations);
    t_.resize(root.iterations);
  }

  /// The root of the patches' covariance.
  const Tensor& forward(const Tensor& patches) {
    at::sub_out(centred_, patches, patches.mean(0, true));
    Tensor c =
        at::mm(centred_.t(), centred_).div_(static_cast<double>(std::max<std::int64_t>(n_ - 1, 1)));
    kept_ = (c.abs() > root_.tau).logical_or_(identity_ > 0);
    c.mul_(kept_).add_(identity_, root_.eps);
    norm_ = at::norm(c).item<double>();
    y_[0] = c.div_(norm_);
    for (int k = 0; k < root_.iterations; ++k) {
      // Z starts as the identity; the last Z is not needed.
      const Tensor zy = k == 0 ? y_[0] : at::mm(z_[k], y_[k]);
      t_[k] = at::sub(1.5 * identity_, zy, 0.5);
      y_[k + 1] = at::mm(y_[k], t_[k]);
      if (k + 1 < root_.iterations) z_[k + 1] = k == 0 ? t_[0] : at::mm(t_[k], z_[k]);
    }
    result_ = y_.back() * std::sqrt(norm_);
    return result_;
  }

  /// The gradient by the patches, of a symmetric gradient by the root.
  void backward(const Tensor& by_root, Tensor& by_patches) const {
    Tensor gy = by_root * std::sqrt(norm_), gz;
    double by_norm = at::sum(by_root * y_.back()).item<double>() * 0.5 / std::sqrt(norm_);
    for (int k = root_.iterations - 1; k >= 0; --k) {
      Tensor gt = at::mm(y_[k], gy);
      if (gz.defined()) k == 0 ? gt.add_(gz) : gt.addmm_(gz, z_[k]);
      gy = at::mm(gy, t_[k]);
      if (k == 0) {
        gy.sub_(gt, 0.5);
        break;
      }
      gy.addmm_(z_[k], gt, 1, -0.5);
      gz = gz.defined() ? at::mm(t_[k], gz) : at::zeros_like(gt);
      gz.addmm_(gt, y_[k], 1, -0.5);
    }
    by_norm -= at::sum(gy * y_[0]).item<double>() / norm_;
    Tensor gc = gy.div_(norm_).add_(y_[0], by_norm).mul_(kept_);
    gc = gc + gc.t();  // both sides of the product see it
    at::mm_out(
        by_patches, centred_, gc.div_(static_cast<double>(std::max<std::int64_t>(n_ - 1, 1))));
  }

 private:
  std::int64_t n_;
  RootOptions root_;
  Tensor identity_, centred_, kept_, result_;
  double norm_ = 1;
  std::vector<Tensor> y_, z_, t_;
};

/// Products of 64 x 64 gain nothing from two cores: a matrix a core.
class MatrixByMatrix : public torch::autograd::Function<MatrixByMatrix> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& patches,
                        double tau,
                        double eps,
                        std::int64_t iterations) {
    const RootOptions root{tau, eps, static_cast<int>(iterations)};
    context->save_for_backward({patches});
    context->saved_data["tau"] = tau;
    context->saved_data["eps"] = eps;
    context->saved_data["iterations"] = iterations;
    const std::int64_t heads = patches.size(2), d = patches.size(3);
    const Triangle triangle(d, patches.options());
    Tensor out = at::empty({patches.size(0), heads, d * (d + 1) / 2}, patches.options());
    at::parallel_for(0, patches.size(0) * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      at::NoGradGuard no_grad;
      OneRoot one(patches.size(1), d, patches.options(), root);
      for (std::int64_t i = begin; i < end; ++i) {
        const Tensor& m = one.forward(patches.select(0, i / heads).select(1, i % heads));
        Tensor to = out.select(0, i / heads).select(0, i % heads);
        at::mul_out(to, m.reshape(-1).index_select(0, triangle.positions), triangle.factors);
      }
    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Tensor patches = context->get_saved_variables()[0];
    const RootOptions root{context->saved_data["tau"].toDouble(),
                           context->saved_data["eps"].toDouble(),
                           static_cast<int>(context->saved_data["iterations"].toInt())};
    const std::int64_t heads = patches.size(2), d = patches.size(3);
    const Triangle triangle(d, patches.options());
    const Tensor upstream = gradients[0].contiguous();
    Tensor result = at::empty(patches.sizes(), patches.options());
    at::parallel_for(0, patches.size(0) * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      at::NoGradGuard no_grad;
      OneRoot one(patches.size(1), d, patches.options(), root);
      for (std::int64_t i = begin; i < end; ++i) {
        one.forward(patches.select(0, i / heads).select(1, i % heads));
        Tensor g = at::zeros({d * d}, patches.options());
        g.index_copy_(0,
                      triangle.positions,
                      upstream.select(0, i / heads).select(0, i % heads) * triangle.factors);
        g = g.view({d, d});
        g = (g + g.t()).mul_(0.5);
        Tensor to = result.select(0, i / heads).select(1, i % heads);
        one.backward(g, to);
      }
    });
    return {result, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor newton_schulz_root(const Tensor& matrices, int iterations, bool trace) {
  const std::int64_t d = matrices.size(-1);
  const Tensor scale = trace ? matrices.diagonal(0, -2, -1).sum(-1, true).unsqueeze(-1)
                             : at::norm(matrices, 2, {-2, -1}, true);
  const Tensor three = 1.5 * at::eye(d, matrices.options());
  Tensor y = matrices / scale, z;
  for (int k = 0; k < iterations; ++k) {
    const Tensor t = three - 0.5 * (z.defined() ? at::matmul(z, y) : y);
    y = at::matmul(y, t);
    if (k + 1 < iterations) z = z.defined() ? at::matmul(t, z) : t;
  }
  return y * scale.sqrt();
}

Tensor recov_covariance(const Tensor& patches, const RootOptions& options) {
  const Tensor centred = patches - patches.mean(-2, true);
  const auto n = static_cast<double>(std::max<std::int64_t>(patches.size(-2) - 1, 1));
  const Tensor c = at::matmul(centred.transpose(-2, -1), centred) / n;
  const Tensor identity = at::eye(c.size(-1), c.options());
  const Tensor kept = (c.detach().abs() > options.tau).logical_or(identity > 0);
  return c * kept + options.eps * identity;
}

Tensor vectorize_root(const Tensor& roots) {
  const Triangle triangle(roots.size(-1), roots.options());
  return roots.flatten(-2).index_select(-1, triangle.positions) * triangle.factors;
}

Tensor ria_vectors(const Tensor& patches, const RootOptions& options) {
  if (patches.device().is_cpu()) {
    return MatrixByMatrix::apply(
        patches, options.tau, options.eps, std::int64_t{options.iterations});
  }
  const Tensor by_head = patches.transpose(1, 2);
  return vectorize_root(newton_schulz_root(recov_covariance(by_head, options), options.iterations));
}

}  // namespace ria
