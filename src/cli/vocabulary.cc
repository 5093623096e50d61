// SPDX-License-Identifier: MIT
#include "ria/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "ria/weights.h"
#include "util/files.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

/// "512MB", "2GB", "1.5GiB" or a plain number of bytes.
std::uint64_t parse_bytes(const std::string& flag, const std::string& text) {
  const auto refuse = [&]() -> std::uint64_t {
    throw std::invalid_argument(
        fmt::format("{} is '{}', a size such as 512MB, 2GB or 1.5GiB was expected", flag, text));
  };
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0)) return refuse();
  std::string unit(rest, end);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty()) unit = "b";
  constexpr char kPrefixes[] = "kmgt";
  const std::size_t power = std::string(kPrefixes).find(unit[0]) + 1;  // 0: no prefix
  const bool binary = unit.size() == 3 && unit[1] == 'i';
  if (unit.back() != 'b' || unit.size() != 1u + (power > 0) + binary) return refuse();
  const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
  if (!(bytes >= 1 && bytes < 1e18)) return refuse();
  return static_cast<std::uint64_t>(bytes);
}

/// A line now and then: k-means does not know how many iterations it will take.
std::function<void(int, double)> iteration_lines() {
  using Clock = std::chrono::steady_clock;
  return [last = Clock::time_point()](int iterations, double moved) mutable {
    if (iterations == 1) last = Clock::now();
    if (Clock::now() - last < std::chrono::seconds(10)) return;
    last = Clock::now();
    fmt::print(stderr, "clustering iteration {}, the centres moved {:.6f}\n", iterations, moved);
  };
}

/// Adds a flag that means something of its own here, whatever a method says by that name.
template <typename T>
CLI::Option* own_flag(CLI::App& command, const std::string& name, T& field, const char* text) {
  if (CLI::Option* other = command.get_option_no_throw(name)) command.remove_option(other);
  return command.add_option(name, field, text)->capture_default_str()->group("Vocabulary");
}

struct Build {
  std::string folder, out, max_memory = "2GB";
  MethodFlags method;
  VocabularyOptions vocabulary;

  void add_flags(CLI::App& command) {
    method.add(command, false);
    own_flag(command, "--clusters", vocabulary.clusters, "centres");
    own_flag(command, "--seed", vocabulary.seed, "of the patches drawn and of the first centres");
    own_flag(command,
             "--max_memory",
             max_memory,
             "for what is held of the patches: 512MB, 2GB, 1.5GiB; without the network's own and "
             "the picture each thread is at")
        ->type_name("SIZE");
    own_flag(command, "--max_iterations", vocabulary.max_iterations, "of k-means");
    own_flag(command,
             "--tolerance",
             vocabulary.tolerance,
             "k-means ends when the squared moves of all centres add up to this");
  }

  void run() {
    vocabulary.max_memory = parse_bytes("--max_memory", max_memory);
    vocabulary.validate();
    if (fs::path(out).extension() != ".safetensors") {
      throw std::invalid_argument(
          fmt::format("--out is '{}', a name ending in .safetensors was expected", out));
    }
    const std::string name = method.methods()[0];
    MethodOptions options = method.options();
    const bool normalize_patches = std::exchange(
        options.ria.normalize_patches, true);  // whole features: no projection inside the network
    options.vlad.vocabulary = "database";      // a published one is not needed here
    check_writable(out);
    const auto pictures = list_pictures(folder);
    const Recognizer recognizer(name, options);
    vocabulary.run = run_options("describing", method.num_threads());
    vocabulary.on_iteration = iteration_lines();
    Vocabulary made = build_vocabulary(
        recognizer.backbone(), recognizer.preprocessing(), normalize_patches, pictures, vocabulary);
    report_failures(made.failures, pictures.size());
    made.origin["method"] = recognizer.method().name;
    options = recognizer.options();
    options.ria.normalize_patches = normalize_patches;
    made.origin["options"] = options_json(recognizer.method(), options);
    save_vocabulary(out, made);
    print_summary(made);
  }

  void print_summary(const Vocabulary& made) const {
    fmt::print("{}: {} centres of {} values from {} of {} patches of {} pictures",
               out,
               made.centres.rows(),
               made.centres.cols(),
               made.patches_used,
               made.patches,
               made.pictures_used);
    if (made.patches_a_picture > 0) fmt::print(", {} a picture", made.patches_a_picture);
    fmt::print("\n{} after {} iterations, mean cosine {:.4f}\n",
               made.converged ? "converged" : "not converged",
               made.iterations,
               made.mean_cosine);
  }
};

void print_info(const std::string& name) {
  const Matrix centres = read_vocabulary(name);
  const WeightsInfo info = weights_info(fs::exists(name) ? fs::path(name) : cached_weights(name));
  std::vector<double> used;
  for (int k = 0; k < centres.rows(); ++k) {
    double squares = 0;
    for (const double value : centres.row(k)) squares += value * value;
    if (squares > 0) used.push_back(std::sqrt(squares));
  }
  std::sort(used.begin(), used.end());
  fmt::print("file               {}\nclusters           {}\ndim                {}\n",
             info.file.string(),
             centres.rows(),
             centres.cols());
  fmt::print("vlad dims          {}\nempty clusters     {}\n",
             centres.size(),
             static_cast<std::size_t>(centres.rows()) - used.size());
  if (!used.empty()) {
    fmt::print("lengths            {:.4f} to {:.4f}, median {:.4f}\n",
               used.front(),
               used.back(),
               used[used.size() / 2]);
  }
  fmt::print("sha256             {}\n", info.sha256);
  for (const auto& [key, value] : info.metadata) fmt::print("{:<18} {}\n", key, value);
}

}  // namespace

void add_vocabulary(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("vocabulary", "Build or inspect a vocabulary for the vlad methods");
  command->require_subcommand(1);

  auto state = std::make_shared<Build>();
  CLI::App* build = command->add_subcommand(
      "build", "Cluster the patches of a folder's pictures, as the method's backbone sees them");
  build->add_option("folder", state->folder, "folder of pictures, searched with its subfolders")
      ->required()
      ->type_name("FOLDER");
  build->add_option("--out", state->out, "vocabulary to write, e.g. vocabulary.safetensors")
      ->required()
      ->type_name("FILE");
  state->add_flags(*build);
  build->callback([state] { state->run(); });

  auto file = std::make_shared<std::string>();
  CLI::App* info =
      command->add_subcommand("info", "Say what a vocabulary holds and how it was made");
  info->add_option("vocabulary",
                   *file,
                   "vocabulary of ria, c_centers.pt of AnyLoc, safetensors, .npy, or a name in the "
                   "weight cache")
      ->required()
      ->type_name("FILE");
  info->callback([file] { print_info(*file); });
}

}  // namespace ria::cli
