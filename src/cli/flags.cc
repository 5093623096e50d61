// SPDX-License-Identifier: MIT
#include "cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <stdexcept>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "ria/push.h"
#include "util/files.h"
#include "util/parallel.h"

namespace ria::cli {

namespace {

constexpr char kDefaultMethod[] = "resnet50-ria";

std::string the_command_line;
// Names of servers with a password, and as they are shown.
std::vector<std::pair<std::string, std::string>> the_secrets;

std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>*?()") == std::string::npos;
  return plain ? word : "'" + word + "'";
}

}  // namespace

std::string failure_text(const Failure& failure) {
  const bool named = failure.reason.find(failure.file) != std::string::npos;
  return named ? failure.reason : failure.file + ": " + failure.reason;
}

void MethodFlags::add_runtime(CLI::App& command) {
  command
      .add_option("--weights", options_.backbone.weights, "weight file instead of the cached one")
      ->type_name("FILE");
  command.add_option("--num_threads", num_threads_, "threads; 0: all cores")->capture_default_str();
}

void MethodFlags::add(CLI::App& command, bool many) {
  add_choice(command, many);
  add_head(command);
  add_behind_head(command);
  add_image(command);
  add_network(command);
  add_onnx(command);
  add_runtime(command);
}

void MethodFlags::add_choice(CLI::App& command, bool many) {
  CLI::Option* method =
      command
          .add_option("--method",
                      methods_,
                      "method, see 'ria methods'; with options of its own: NAME:d=128,center=true")
          ->default_str(kDefaultMethod)
          ->type_name("NAME");
  many ? method->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
       : method->expected(1);
  command
      .add_option(
          "--backbone",
          backbone_,
          "any network, with --aggregator; or the network of cosplace, eigenplaces, ...; one "
          "that is in a file: onnx:FILE, resnet:FILE, dinov2:FILE")
      ->type_name("NAME");
  command
      .add_option("--aggregator",
                  aggregator_,
                  "what pools the features of --backbone: ria, riax, gem, mean, vlad or netvlad")
      ->type_name("NAME")
      ->excludes(method);
  command.add_option("--descriptors_dimension",
                     descriptors_dimension_,
                     "length of the descriptors, of those the method comes in; 0: its own");
}

std::vector<std::string> MethodFlags::methods() const {
  if (descriptors_dimension_ < 0) {
    throw std::invalid_argument(fmt::format(
        "--descriptors_dimension is {}, at least 1 was expected", descriptors_dimension_));
  }
  const bool pairing = methods_.empty() && (!backbone_.empty() || !aggregator_.empty());
  if (pairing) {
    return {method_name(
        "", backbone_.empty() ? "resnet50" : backbone_, aggregator_, descriptors_dimension_)};
  }
  std::vector<std::string> names;
  for (const std::string& name :
       methods_.empty() ? std::vector<std::string>{kDefaultMethod} : methods_) {
    names.push_back(method_name(name, backbone_, "", descriptors_dimension_));
    choose_method(names.back(), options());
  }
  return names;
}

void MethodFlags::add_head(CLI::App& command) {
  RiaOptions& ria = options_.ria;
  const std::string group = "Aggregation";
  const auto flag = [&](const char* name, auto& field, const char* text) {
    return command.add_option(name, field, text)->capture_default_str()->group(group);
  };
  command
      .add_option("--d",
                  d_,
                  "ria, riax: projected dimension; the descriptor has d(d+1)/2 values; unset: 64 "
                  "for ria, 128 for riax")
      ->group(group);
  flag("--projection",
       ria.projection,
       "ria: random, none, pca (of the database), pca:FOLDER or FILE.npy");
  flag("--seed", ria.seed, "ria, riax: seed of the random projection");
  flag("--shrinkage",
       options_.riax.shrinkage,
       "riax: of the mean eigenvalue, added to the diagonal");
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
  flag("--gem_sign",
       gem_sign_,
       "gem: preserve, clamp or absolute; unset: preserve for transformers, else clamp");
  flag("--gem_eps", options_.gem.gem_eps, "gem: floor of clamp");
  VladOptions& vlad = options_.vlad;
  command.add_option("--clusters", vlad.clusters, "vlad, netvlad: centres of a fitted vocabulary")
      ->group(group);
  command
      .add_option("--vocabulary",
                  vlad.vocabulary,
                  "vlad, netvlad: file, cached weight (anyloc-urban) or database: fitted on it")
      ->type_name("FILE|NAME")
      ->group(group);
  command.add_flag("--vlad_soft", vlad.vlad_soft, "vlad: soft assignment, as AnyLoc's")
      ->group(group);
  flag("--soft_temperature", vlad.soft_temperature, "vlad: of the soft assignment");
  flag("--intra_normalize", vlad.intra_normalize, "vlad: L2 for each cluster: true or false");
}

void MethodFlags::add_behind_head(CLI::App& command) {
  const std::string group = "Behind the descriptor";
  command
      .add_option("--cross_image",
                  options_.cross_image,
                  "supervlad, cricavpr: so many pictures, as listed, go through the cross-image "
                  "encoder together (published: 8 and 16); unset: 1")
      ->type_name("N")
      ->group(group);
  command
      .add_flag("--center", options_.post.center, "remove the database's mean descriptor, then L2")
      ->group(group);
  command.add_option("--pca", options_.post.pca, "keep so many directions of largest variance")
      ->type_name("N")
      ->group(group);
  command.add_flag("--whiten", options_.post.whiten, "pca: divide each by its standard deviation")
      ->group(group);
  command
      .add_option("--fit_folder",
                  options_.fit_folder,
                  "fit vocabulary, center and pca on these pictures instead of the database")
      ->type_name("FOLDER")
      ->group(group);
  command
      .add_option("--rerank",
                  options_.rerank,
                  "look at the first answers again: none, patches or local (selavpr)")
      ->type_name("KIND")
      ->group(group);
  const auto rerank = [&](const char* name, auto& field, const char* text) {
    command.add_option(name, field, text)->capture_default_str()->group(group);
  };
  PatchRerankOptions& patches = options_.patches;
  rerank("--rerank_depth", options_.rerank_depth, "at how many of them");
  rerank("--rerank_d", patches.rerank_d, "patches: bits kept of a patch, a multiple of 32");
  rerank("--rerank_seed",
         patches.rerank_seed,
         "patches: seed of the directions they are the signs along");
  rerank("--rerank_tolerance",
         patches.rerank_tolerance,
         "patches: how far matches may disagree, as a share of the longest side");
  rerank("--rerank_cosine_weight",
         patches.rerank_cosine_weight,
         "patches: weight of the descriptors' cosine beside them");
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
      .add_flag("--round_size",
                options_.round_size,
                "resize to the nearest multiple of the patch instead of cropping to one")
      ->group(group);
  command
      .add_option("--resize",
                  options_.resize,
                  "pil_bilinear, pil_bicubic, pil_lanczos, tensor_bilinear[_aa], "
                  "tensor_bicubic[_aa] or tensor_nearest")
      ->group(group);
  add_ignore_orientation(command, options_.ignore_orientation)->group(group);
}

void MethodFlags::add_network(CLI::App& command) {
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

void MethodFlags::add_onnx(CLI::App& command) {
  OnnxOptions& onnx = options_.backbone.onnx;
  const auto flag = [&](const char* name, auto& field, const char* text) {
    return command.add_option(name, field, text)->group("ONNX files (unset: as the file says)");
  };
  flag("--onnx_output", onnx.onnx_output, "which output is taken; unset: the only one")
      ->type_name("NAME");
  flag("--onnx_layout",
       onnx.onnx_layout,
       "channels of pictures and feature maps: nchw (first) or nhwc (last)")
      ->type_name("NAME");
  flag("--onnx_normalization",
       onnx.onnx_normalization,
       "pixels: imagenet, unit (0..1), signed (-1..1), clip, caffe, raw (0..255) or means and "
       "deviations 'R G B R G B' in 0..1; unset: imagenet")
      ->type_name("KIND");
  flag("--onnx_leading_tokens",
       onnx.onnx_leading_tokens,
       "class token and registers in front of the patches; unset: what leaves a grid")
      ->type_name("N");
  flag("--onnx_multiple", onnx.onnx_multiple, "crop pictures to a multiple of so many pixels")
      ->type_name("N");
}

MethodOptions MethodFlags::options() const {
  MethodOptions options = options_;
  if (d_) options.ria.d = options.riax.d = *d_;
  options.riax.seed = options.ria.seed;
  options.ria.estimator = parse_estimator(estimator_);
  options.ria.mapping = parse_mapping(mapping_);
  if (!gem_sign_.empty()) options.gem.sign = parse_gem_sign(gem_sign_);
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
  options.ria.normalize_patches = options.gem.normalize_patches = options.vlad.normalize_patches =
      normalize_patches_ == "true";
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

Recognizer recognizer_of(const Map& map, const BackboneOptions& backbone) {
  const auto refused = [&](const std::exception& error) {
    return std::runtime_error(fmt::format("{}: {}", map.file().string(), error.what()));
  };
  try {
    return Recognizer(map, backbone);
  } catch (const std::logic_error& error) {
    throw refused(error);
  } catch (const std::runtime_error& error) {
    throw refused(error);
  }
}

void ShardFlag::add(CLI::App& command) {
  command
      .add_option(
          "--shard", text_, "only part I of N of the pictures, the same on every machine: 3/16")
      ->type_name("I/N");
}

std::vector<std::filesystem::path> ShardFlag::of(const std::vector<std::filesystem::path>& pictures,
                                                 const Recognizer& recognizer) const {
  if (text_.empty()) return pictures;
  const Shard shard = [this] {
    try {
      return Shard::parse(text_);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string("--") + error.what());
    }
  }();
  const MethodOptions& options = recognizer.options();
  if (options.post.any() && options.fit_folder.empty() && recognizer.postprocessor().empty()) {
    throw std::invalid_argument(
        "--shard: center and pca are fitted on all descriptors, which no shard has; fit them on "
        "other pictures by --fit_folder");
  }
  return shard.of(pictures, options.cross_image);
}

CLI::Option* add_ignore_orientation(CLI::App& command, bool& field) {
  return command.add_flag(
      "--ignore_orientation", field, "pictures as stored, whatever EXIF says of the camera");
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
        "none of {} pictures could be described; the first: {}", total, failure_text(failures[0])));
  }
  for (const Failure& failure : failures) {
    fmt::print(stderr, "ria: skipped: {}\n", failure_text(failure));
  }
  fmt::print(stderr, "ria: {} of {} pictures were skipped\n", failures.size(), total);
}

void remember_command_line(int argc, char** argv) {
  std::vector<std::string> words{"ria"};
  for (int i = 1; i < argc; ++i) {
    words.push_back(quoted(shown_name(argv[i])));
    if (shown_name(argv[i]) != argv[i]) the_secrets.emplace_back(argv[i], shown_name(argv[i]));
  }
  the_command_line = fmt::format("{}", fmt::join(words, " "));
}

const std::string& command_line() { return the_command_line; }

std::string without_passwords(std::string text) {
  for (const auto& [typed, shown] : the_secrets) {
    for (std::size_t at = text.find(typed); at != text.npos; at = text.find(typed, at + 1)) {
      text.replace(at, typed.size(), shown);
    }
  }
  return text;
}

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
  } else {
    write_text(file, text);
  }
}

}  // namespace ria::cli
