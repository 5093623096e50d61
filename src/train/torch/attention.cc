// SPDX-License-Identifier: MIT
#include "train/torch/attention.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

#include <cmath>

namespace ria {

namespace {

/// The same with a picture's head a core: products of this size gain nothing from two cores, and
/// the scores of a head stay in its cache until they are used. Scores are computed again on the way
/// back instead of being kept.
class HeadByHead : public torch::autograd::Function<HeadByHead> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& qkv,
                        std::int64_t heads) {
    context->save_for_backward({qkv});
    context->saved_data["heads"] = heads;
    const std::int64_t count = qkv.size(0), tokens = qkv.size(1), dim = qkv.size(2) / 3;
    Tensor out = at::empty({count, tokens, dim}, qkv.options());
    const Parts parts(qkv, heads);
    const Tensor outs = out.view({count, tokens, heads, dim / heads});
    at::parallel_for(0, count * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      at::NoGradGuard no_grad;
      Tensor scores = at::empty({tokens, tokens}, qkv.options());
      for (std::int64_t i = begin; i < end; ++i) {
        parts.weights(i, scores);
        Tensor to = outs.select(0, i / heads).select(1, i % heads);
        at::mm_out(to, scores, parts.at(i, 2));
      }
    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Tensor qkv = context->get_saved_variables()[0];
    const std::int64_t heads = context->saved_data["heads"].toInt();
    const std::int64_t count = qkv.size(0), tokens = qkv.size(1), dim = qkv.size(2) / 3;
    const Tensor upstream = gradients[0].contiguous().view({count, tokens, heads, dim / heads});
    Tensor result = at::empty_like(qkv);
    const Parts parts(qkv, heads), results(result, heads);
    at::parallel_for(0, count * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      at::NoGradGuard no_grad;
      Tensor weights = at::empty({tokens, tokens}, qkv.options()), slope = at::empty_like(weights);
      for (std::int64_t i = begin; i < end; ++i) {
        const Tensor g = upstream.select(0, i / heads).select(1, i % heads);
        parts.weights(i, weights);
        Tensor to_q = results.at(i, 0), to_k = results.at(i, 1), to_v = results.at(i, 2);
        at::mm_out(to_v, weights.t(), g);
        at::mm_out(slope, g, parts.at(i, 2).t());
        Tensor by_scores = at::_softmax_backward_data(slope, weights, 1, weights.scalar_type());
        at::mm_out(to_q, by_scores, parts.at(i, 1));
        to_q.mul_(parts.scale());
        at::mm_out(to_k, by_scores.t(), parts.at(i, 0));
        to_k.mul_(parts.scale());
      }
    });
    return {result, Tensor()};
  }

 private:
  /// Queries, keys and values of each picture's heads, where they lie.
  class Parts {
   public:
    Parts(const Tensor& qkv, std::int64_t heads)
        : heads_(heads),
          width_(qkv.size(2) / 3 / heads),
          all_(qkv.view({qkv.size(0), qkv.size(1), 3, heads, width_})) {}
    Tensor at(std::int64_t i, int part) const {
      return all_.select(0, i / heads_).select(1, part).select(1, i % heads_);
    }
    double scale() const { return 1 / std::sqrt(static_cast<double>(width_)); }
    void weights(std::int64_t i, Tensor& out) const {
      at::mm_out(out, at(i, 0), at(i, 1).t());
      out.mul_(scale());
      at::_softmax_out(out, out, 1, false);
    }

   private:
    std::int64_t heads_, width_;
    Tensor all_;
  };
};

}  // namespace

Tensor attention(const Tensor& qkv, int heads) {
  const std::int64_t count = qkv.size(0), tokens = qkv.size(1), dim = qkv.size(2) / 3;
  if (qkv.device().is_cpu() && qkv.scalar_type() == at::kFloat) {
    return HeadByHead::apply(qkv.contiguous(), std::int64_t{heads});
  }
  const Tensor parts = qkv.view({count, tokens, 3, heads, dim / heads}).permute({2, 0, 3, 1, 4});
#if TORCH_VERSION_MAJOR >= 2
  const Tensor out = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
#else
  const double scale = 1 / std::sqrt(static_cast<double>(dim / heads));
  const Tensor scores = at::matmul(parts[0] * scale, parts[1].transpose(-2, -1));
  const Tensor out = at::matmul(at::softmax(scores, -1), parts[2]);
#endif
  return out.transpose(1, 2).reshape({count, tokens, dim});
}

}  // namespace ria
