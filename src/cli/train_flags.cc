// SPDX-License-Identifier: MIT
#include "cli/train_flags.h"

#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "ria/report.h"

namespace ria::cli {

namespace {

constexpr char kGsvCities[] = "gsv-cities";

int number_of(const char* name, int otherwise, int least, int most) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most) {
    throw std::invalid_argument(fmt::format(
        "{} is '{}', a whole number from {} to {} was expected", name, text, least, most));
  }
  return value;
}

/// Adds a flag with its default shown.
template <typename T>
CLI::Option* field(
    CLI::App& command, const char* group, const char* name, T& value, const char* text) {
  return command.add_option(name, value, text)->capture_default_str()->group(group);
}

}  // namespace

namespace {

/// Every step asks for the same hundreds of megabytes: memory that is given back comes again page
/// by page, which took a tenth of the time.
void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace

TrainRun training_run(const std::filesystem::path& folder, const std::string& backbone) {
  keep_freed_memory();
  TrainRun run;
  run.folder = folder;
  run.stop = stop_on_interrupt();
  run.progress = training_line();
  run.saved = [folder, backbone](const TrainResult& so_far) {
    ReportOptions page;
    page.title = fmt::format("{}: RIA-FT on {}", folder.string(), backbone);
    page.command = command_line();
    write_training_page(folder / "index.html", so_far, page);
  };
  return run;
}

TrainWorkers workers_of_environment() {
  TrainWorkers workers;
  workers.count = number_of("WORLD_SIZE", 1, 1, 4096);
  workers.rank = number_of("RANK", 0, 0, workers.count - 1);
  workers.port = number_of("MASTER_PORT", workers.port, 1, 65535);
  if (const char* address = std::getenv("MASTER_ADDR")) workers.address = address;
  if (workers.count > 1 && std::getenv("RANK") == nullptr) {
    throw std::invalid_argument(
        fmt::format("WORLD_SIZE is {} and RANK is not set: each worker's own number was expected",
                    workers.count));
  }
  return workers;
}

void TrainingSource::add(CLI::App& command, bool named) {
  const char* group = "Training pictures (several sets are joined)";
  const auto many = [&](const char* name, std::vector<std::string>& values, const char* text) {
    return command.add_option(name, values, text)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
  };
  many("--train_folder", folders_, "pictures with @east@north@ names, grouped to places")
      ->type_name("FOLDER");
  if (named) {
    many("--dataset", datasets_, "gsv-cities, a name of 'ria datasets', or a file of ground truth")
        ->type_name("NAME|GT.json");
    many("--data_folder", data_folders_, "the named set's folder, one for each or one for all")
        ->type_name("FOLDER");
    many("--city", cities_, "gsv-cities: only this one; may be repeated")->type_name("NAME");
    reading_.add(command);
  }
  field(command, group, "--place_radius", places_.place_radius, "metres around a place's middle");
  field(command,
        group,
        "--place_heading",
        places_.place_heading,
        "degrees headings of a place may differ, where names have one");
  field(command,
        group,
        "--negative_distance",
        places_.negative_distance,
        "metres: places nearer to each other are never in one batch");
  field(command,
        group,
        "--min_pictures",
        places_.min_pictures,
        "places with fewer are left out; 0: 4 for gsv-cities, else 2");
}

TrainingSet TrainingSource::load_named(std::size_t i) const {
  const std::string& name = datasets_[i];
  if (data_folders_.empty()) {
    if (name == kGsvCities) throw std::invalid_argument("--dataset gsv-cities needs --data_folder");
    return places_of_dataset(load_json_dataset(name, "--dataset", "--data_folder"), places_);
  }
  if (name.ends_with(".json")) return places_of_dataset(load_ground_truth(name), places_);
  std::size_t before = 0;  // named sets before this one: files have no folder
  for (std::size_t j = 0; j < i; ++j) before += !datasets_[j].ends_with(".json");
  if (data_folders_.size() > 1 && before >= data_folders_.size()) {
    throw std::invalid_argument(fmt::format(
        "--dataset {} has no --data_folder: one for each or one for all was expected", name));
  }
  const std::string& folder = data_folders_[data_folders_.size() == 1 ? 0 : before];
  if (name == kGsvCities) return places_of_gsv_cities(folder, cities_, places_);
  return places_of_dataset(load_dataset(name, folder, reading_.options()), places_);
}

TrainingSet TrainingSource::load() const {
  places_.validate();
  if (!given()) {
    throw std::invalid_argument(
        "--train_folder D, --dataset gsv-cities --data_folder D or --dataset GT.json was expected");
  }
  std::vector<TrainingSet> sets;
  for (const std::string& folder : folders_) sets.push_back(places_of_folder(folder, places_));
  for (std::size_t i = 0; i < datasets_.size(); ++i) sets.push_back(load_named(i));
  return sets.size() == 1 ? std::move(sets[0]) : joined(sets);
}

void TrainFlags::add(CLI::App& command) {
  add_network(command);
  add_head(command);
  add_batches(command);
  add_augmentation(command);
  add_steps(command);
  add_running(command);
}

void TrainFlags::add_network(CLI::App& command) {
  const char* group = "Network";
  BackboneOptions& network = options_.network;
  field(command, group, "--backbone", options_.backbone, "resnet50, dinov2-vitl14, vgg16, ...");
  command.add_option("--weights", network.weights, "weight file instead of the cached one")
      ->type_name("FILE")
      ->group(group);
  field(command, group, "--unfreeze", options_.unfreeze, "last blocks that are trained");
  command.add_option("--cut", network.cut, "where a convolutional network is cut")
      ->type_name("PLACE")
      ->group(group);
  command.add_option("--layer", layer_, "transformers: block the facet is taken from, 0 = first")
      ->group(group);
  command.add_option("--facet", facet_, "transformers: token, query, key or value")->group(group);
  command.add_option("--position_rule", position_rule_, "transformers: hub, hf or reg")
      ->group(group);
  field(command, group, "--stride", network.stride, "transformers: pixels between patches");
  command
      .add_flag("--final_norm", network.final_norm, "transformers: tokens through the final norm")
      ->group(group);
}

void TrainFlags::add_head(CLI::App& command) {
  const char* group = "Heads";
  field(command, group, "--heads", options_.heads, "covariance heads");
  field(command, group, "--d", options_.d, "projected dimension of each");
  CLI::Option* mlp =
      field(command, group, "--mlp", options_.mlp, "values the MLP leaves of a head");
  command.add_flag("--no_mlp", no_mlp_, "no MLP behind the heads")->excludes(mlp)->group(group);
  field(command,
        group,
        "--mlp_hidden",
        options_.mlp_hidden,
        "inner width of the MLP; -1: twice --mlp; 0: one linear layer");
  command
      .add_flag("--learn_projection,!--no_learn_projection",
                options_.learn_projection,
                "train the projections, which begin as random ones (default)")
      ->group(group);
  field(command, group, "--seed", options_.seed, "of projections, order and augmentation");
  field(command, group, "--tau", options_.tau, "threshold of the covariance");
  field(command, group, "--eps", options_.eps, "added to its diagonal");
  field(command, group, "--iterations", options_.iterations, "of the matrix root");
  field(command,
        group,
        "--normalize_patches",
        options_.normalize_patches,
        "L2-normalise each patch first: true or false");
}

void TrainFlags::add_batches(CLI::App& command) {
  const char* group = "Batches";
  field(command, group, "--places_per_batch", options_.places_per_batch, "places");
  field(command, group, "--pictures_per_place", options_.pictures_per_place, "pictures of each");
  field(command,
        group,
        "--patches_per_step",
        options_.patches_per_step,
        "patches pooled of a picture, others in every step; 0: all (with --unfreeze 0)");
  field(command, group, "--image_size", options_.image_size, "pixels of both sides in training");
  field(command,
        group,
        "--eval_image_size",
        options_.eval_image_size,
        "the same in use, as the model records it; 0: the backbone's own way");
  field(
      command,
      group,
      "--augment",
      options_.augment,
      "cached:N (each picture and N variants of it, made once), standard (others in every epoch), "
      "none")
      ->type_name("KIND");
  add_ignore_orientation(command, options_.ignore_orientation)->group(group);
}

void TrainFlags::add_augmentation(CLI::App& command) {
  const char* group = "Augmentation (standard and cached:N)";
  AugmentOptions& a = options_.augmentation;
  field(command, group, "--crop_scale", a.crop_scale, "share of the area that a crop has, from to");
  field(command, group, "--crop_ratio", a.crop_ratio, "shape of a crop, from to");
  field(command, group, "--flip", a.flip, "probability of a mirrored picture");
  field(command, group, "--brightness", a.brightness, "factors of 1 - x to 1 + x");
  field(command, group, "--contrast", a.contrast, "factors of 1 - x to 1 + x");
  field(command, group, "--saturation", a.saturation, "factors of 1 - x to 1 + x");
  field(command, group, "--hue", a.hue, "turned by -x to x of the circle");
  field(command, group, "--night", a.night, "probability of a picture made dark");
  field(command, group, "--night_gamma", a.night_gamma, "exponents of dark pictures, from to");
  field(command, group, "--night_gain", a.night_gain, "factors of dark pictures, from to");
  field(command, group, "--rand_ops", a.rand_ops, "operations of RandAugment; 0: none");
  field(command, group, "--rand_magnitude", a.rand_magnitude, "of RandAugment, 0 to 30");
}

void TrainFlags::add_steps(CLI::App& command) {
  const char* group = "Steps";
  TrainOptions& o = options_;
  field(command, group, "--epochs", o.epochs, "0: enough for --min_steps, 4 at least");
  field(command, group, "--min_steps", o.min_steps, "see --epochs");
  field(command, group, "--lr", o.lr, "learning rate of the network's blocks");
  field(command, group, "--head_lr", o.head_lr, "learning rate of projections and MLPs");
  field(command, group, "--lr_end", o.lr_end, "share of the rates at the end; they fall linearly");
  field(command, group, "--schedule_steps", o.schedule_steps, "steps until then; 0: all");
  field(command, group, "--warmup_steps", o.warmup_steps, "steps in which the rates rise");
  field(command, group, "--weight_decay", o.weight_decay, "of AdamW");
  field(command, group, "--clip_norm", o.clip_norm, "largest norm of the gradients; 0: any");
  field(command, group, "--ms_alpha", o.ms_alpha, "multi-similarity loss, of positive pairs");
  field(command, group, "--ms_beta", o.ms_beta, "of negative pairs");
  field(command, group, "--ms_base", o.ms_base, "cosine in between");
  field(command, group, "--miner_eps", o.miner_eps, "margin of the miner; negative: all pairs");
  field(command,
        group,
        "--val_every",
        o.val_every,
        "steps between two validations at least; 0: one after every epoch");
}

void TrainFlags::add_running(CLI::App& command) {
  const char* group = "Running";
  TrainOptions& o = options_;
  field(command, group, "--device", o.device, "cpu, cuda or cuda:N");
  field(command,
        group,
        "--train_precision",
        o.train_precision,
        "of the network and the projections: fp32, bf16, fp16");
  field(command, group, "--num_threads", o.num_threads, "threads; 0: all cores");
  field(command,
        group,
        "--checkpoint_minutes",
        o.checkpoint_minutes,
        "minutes between two checkpoints inside an epoch");
  command
      .add_option("--feature_cache",
                  o.feature_cache,
                  "folder of the frozen part's features; default: in the cache folder")
      ->type_name("FOLDER")
      ->group(group);
}

TrainOptions TrainFlags::options() const {
  TrainOptions options = options_;
  if (no_mlp_) options.mlp = 0;
  options.network.layer = layer_;
  if (!facet_.empty()) options.network.facet = parse_facet(facet_);
  if (!position_rule_.empty()) options.network.position_rule = parse_position_rule(position_rule_);
  options.validate();
  return options;
}

}  // namespace ria::cli
