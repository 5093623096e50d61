// SPDX-License-Identifier: MIT
#include "cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <stdexcept>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "util/files.h"
#include "util/parallel.h"

namespace ria::cli {

namespace {

std::string the_command_line;

std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>*?()") == std::string::npos;
  return plain ? word : "'" + word + "'";
}

std::string say(const Failure& failure) {
  const bool named = failure.reason.find(failure.file) != std::string::npos;
  return named ? failure.reason : failure.file + ": " + failure.reason;
}

}  // namespace

void MethodFlags::add_runtime(CLI::App& command) {
  command
      .add_option("--weights", options_.backbone.weights, "weight file instead of the cached one")
      ->type_name("FILE");
  command.add_option("--num_threads", num_threads_, "threads; 0: all cores")->capture_default_str();
}

void MethodFlags::add(CLI::App& command, bool many) {
  CLI::Option* method = command.add_option("--method", methods_, "method, see 'ria methods'")
                            ->capture_default_str()
                            ->type_name("NAME");
  many ? method->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
       : method->expected(1);
  add_head(command);
  add_image(command);
  add_runtime(command);
}

void MethodFlags::add_head(CLI::App& command) {
  RiaOptions& ria = options_.ria;
  const std::string group = "Aggregation";
  const auto flag = [&](const char* name, auto& field, const char* text) {
    return command.add_option(name, field, text)->capture_default_str()->group(group);
  };
  flag("--d", ria.d, "ria: projected dimension; the descriptor has d(d+1)/2 values");
  flag("--projection",
       ria.projection,
       "ria: random, none, pca (of the database), pca:FOLDER or FILE.npy");
  flag("--seed", ria.seed, "ria: seed of the random projection");
  flag("--normalize_patches", normalize_patches_, "L2-normalise each patch first: true or false");
  flag("--estimator", estimator_, "ria: sample, recov, ledoit_wolf or oas");
  flag("--tau", ria.tau, "ria: threshold of recov");
  flag("--eps", ria.eps, "ria: added to the diagonal");
  flag("--mapping",
       mapping_,
       "ria: newton_schulz, power, log_euclidean, log_euclidean_centred or identity");
  flag("--iterations", ria.iterations, "ria: steps of newton_schulz");
  flag("--alpha", ria.alpha, "ria: exponent of power, in (0, 1]");
  flag("--p", options_.gem.p, "gem: exponent");
  flag("--gem_sign", gem_sign_, "gem: preserve, clamp or absolute");
  flag("--gem_eps", options_.gem.gem_eps, "gem: floor of clamp");
}

void MethodFlags::add_image(CLI::App& command) {
  const std::string group = "Pictures";
  CLI::Option* size =
      command
          .add_option("--image_size", image_size_, "N: shortest side in pixels; H W: exact size")
          ->expected(1, 2)
          ->type_name("N | H W")
          ->group(group);
  CLI::Option* longest = command
                             .add_option("--longest_side",
                                         options_.longest_side,
                                         "longest side in pixels; 0: the backbone's own")
                             ->excludes(size)
                             ->group(group);
  command.add_flag("--native_size", options_.native_size, "do not resize")
      ->excludes(size)
      ->excludes(longest)
      ->group(group);
  command
      .add_option("--resize",
                  options_.resize,
                  "pil_bilinear, pil_bicubic, pil_lanczos, tensor_bilinear[_aa], "
                  "tensor_bicubic[_aa] or tensor_nearest")
      ->group(group);
  const std::string network = "Network";
  command
      .add_option("--cut",
                  options_.backbone.cut,
                  "where a convolutional network is cut: stem, layer3, layer3.2 (resnet); conv5_3, "
                  "relu4_2, pool3 or a module number (vgg)")
      ->type_name("PLACE")
      ->group(network);
  const std::string transformer = "Transformers";
  command.add_option("--layer", layer_, "block the facet is taken from, 0 = first")
      ->group(transformer);
  command.add_option("--facet", facet_, "token, query, key or value")->group(transformer);
  command
      .add_option("--position_rule",
                  position_rule_,
                  "resizing of position embeddings: hub, hf (Hugging Face) or reg")
      ->group(transformer);
  command
      .add_option("--stride", options_.backbone.stride, "pixels between patches; 0: the patch size")
      ->capture_default_str()
      ->group(transformer);
  command
      .add_flag("--final_norm",
                options_.backbone.final_norm,
                "the last block's tokens through the network's final norm")
      ->group(transformer);
  command.add_option("--precision", precision_, "fp32, int8 or bf16")
      ->capture_default_str()
      ->group(network);
}

MethodOptions MethodFlags::options() const {
  MethodOptions options = options_;
  options.ria.estimator = parse_estimator(estimator_);
  options.ria.mapping = parse_mapping(mapping_);
  options.gem.sign = parse_gem_sign(gem_sign_);
  options.backbone.precision = parse_precision(precision_);
  options.backbone.layer = layer_;
  if (!facet_.empty()) options.backbone.facet = parse_facet(facet_);
  if (!position_rule_.empty()) {
    options.backbone.position_rule = parse_position_rule(position_rule_);
  }
  if (normalize_patches_ != "true" && normalize_patches_ != "false") {
    throw std::invalid_argument(
        fmt::format("--normalize_patches is '{}', true or false was expected", normalize_patches_));
  }
  options.ria.normalize_patches = options.gem.normalize_patches = normalize_patches_ == "true";
  for (const int side : image_size_) {
    if (side < 1)
      throw std::invalid_argument(fmt::format("--image_size is {}, at least 1 was expected", side));
  }
  if (image_size_.size() == 1) options.shortest_side = image_size_[0];
  if (image_size_.size() == 2) {
    options.image_height = image_size_[0];
    options.image_width = image_size_[1];
  }
  options.validate();
  return options;
}

RunOptions run_options(const std::string& label, int num_threads) {
  RunOptions run;
  run.num_threads = resolve_threads(num_threads);
  run.stop = stop_on_interrupt();
  run.progress = progress_line(label);
  return run;
}

void report_failures(const std::vector<Failure>& failures, std::size_t total) {
  if (failures.empty()) return;
  if (failures.size() == total) {
    throw std::runtime_error(fmt::format(
        "none of {} pictures could be described; the first: {}", total, say(failures[0])));
  }
  for (const Failure& failure : failures) {
    fmt::print(stderr, "ria: skipped: {}\n", say(failure));
  }
  fmt::print(stderr, "ria: {} of {} pictures were skipped\n", failures.size(), total);
}

void remember_command_line(int argc, char** argv) {
  std::vector<std::string> words{"ria"};
  for (int i = 1; i < argc; ++i) words.push_back(quoted(argv[i]));
  the_command_line = fmt::format("{}", fmt::join(words, " "));
}

const std::string& command_line() { return the_command_line; }

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
  } else {
    write_text(file, text);
  }
}

}  // namespace ria::cli
