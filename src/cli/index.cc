// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "ria/store.h"
#include "util/files.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

void print_places(const std::string& file, int places, const MapHeader& header) {
  fmt::print("{}: {} places, {} dims by {}\n", file, places, header.dim, header.method);
}

struct Build {
  std::string folder, out, storage = to_string(Storage::kHalf);
  MethodFlags method;

  void run() {
    const std::string name = method.methods()[0];
    const Storage kept = parse_storage(storage);
    check_writable(out);
    const auto pictures = list_pictures(folder);
    RunOptions options = run_options("indexing", method.num_threads());
    options.names_relative_to = folder;
    Recognizer recognizer(name, method.options());
    recognizer.fit(pictures, options);
    Descriptions described = recognizer.describe(pictures, options);
    report_failures(described.failures, pictures.size());
    recognizer.finish(described, static_cast<int>(pictures.size()));
    int places = 0;
    Map::build(out, recognizer.header(), kept, [&](Map& map) {
      map.set_fitted(recognizer.fitted());
      places = recognizer.add(described, map);
    });
    print_places(out, places, recognizer.header());
  }
};

/// Pictures are added some at a time: what was added stays, and the next run goes on behind it.
struct Add {
  std::string file, folder;
  MethodFlags flags;

  std::vector<fs::path> new_pictures(const Map& map) const {
    std::vector<fs::path> pictures = list_pictures(folder);
    std::erase_if(pictures, [&](const fs::path& picture) {
      return !map.find(picture.lexically_proximate(folder).generic_string()).empty();
    });
    return pictures;
  }

  void run() {
    Map map = Map::open(file, Access::kWrite);
    const Recognizer recognizer = recognizer_of(map, flags.options().backbone);
    const std::vector<fs::path> pictures = new_pictures(map);
    RunOptions options = run_options("indexing", flags.num_threads());
    options.names_relative_to = folder;
    options.resume = false;
    int done = 0;
    const auto total = static_cast<int>(pictures.size());
    options.progress = [&, show = options.progress](int some, int) {
      if (show) show(done + some, total);
    };
    const int group = std::max(1, recognizer.options().cross_image);
    const int step = (kTogether + group - 1) / group * group;
    std::vector<Failure> failures;
    for (; done < total; done += step) {
      const auto first = pictures.begin() + done;
      try {
        const Descriptions described =
            recognizer.describe({first, first + std::min(step, total - done)}, options);
        recognizer.add(described, map);
        for (Failure failure : described.failures) {
          failure.picture += done;
          failures.push_back(std::move(failure));
        }
      } catch (const Interrupted&) {
        throw Interrupted(done, total);
      }
    }
    if (total > 0) report_failures(failures, pictures.size());
    print_places(file, map.size(), map.header());
  }

  static constexpr int kTogether = 64;
};

void remove(const std::string& file, const std::vector<std::string>& names) {
  Map map = Map::open(file, Access::kWrite);
  std::vector<int> places;
  for (const std::string& name : names) {
    const std::vector<int> found = map.find(name);
    if (found.empty()) {
      throw std::runtime_error(fmt::format("{} has no place '{}'", file, name));
    }
    places.insert(places.end(), found.begin(), found.end());
  }
  map.remove(places);
  print_places(file, map.size(), map.header());
}

void merge(const std::vector<std::string>& files, const std::string& out) {
  const int places = [&] {
    try {
      return merge_maps({files.begin(), files.end()}, out);
    } catch (const std::invalid_argument& error) {  // the files' fault, not the command line's
      throw std::runtime_error(error.what());
    }
  }();
  print_places(out, places, Map::open(out).header());
}

void print_info(const std::string& file) {
  const Map map = Map::open(file);
  const MapHeader& header = map.header();
  fmt::print("file            {}\nmethod          {}\nplaces          {}\ndim             {}\n",
             file,
             header.method,
             map.size(),
             header.dim);
  fmt::print("storage         {}\nlocal features  {}\nbytes           {}\n",
             to_string(map.storage()),
             map.has_locals() ? "yes" : "no",
             fs::file_size(file));
  fmt::print("options         {}\nweights sha256  {}\nria version     {}\n",
             header.options,
             header.weights_sha256.empty() ? "none needed" : header.weights_sha256,
             header.ria_version);
}

void check(const std::string& file) {
  const Map map = Map::open(file);
  const std::vector<std::string> problems = map.check();
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (!problems.empty()) {
    throw std::runtime_error(fmt::format("{} is damaged: {} found", file, problems.size()));
  }
  fmt::print("{}: whole, {} places\n", file, map.size());
}

void export_descriptors(const std::string& file, const std::string& out) {
  check_descriptor_file(out);
  const Map map = Map::open(file);
  Descriptions all;
  std::vector<int> places;
  map.each_place([&](int number, const Place& place) {
    places.push_back(number);
    all.names.push_back(place.name);
  });
  all.descriptors = map.descriptors(places);
  all.image_sizes.resize(places.size());  // not known
  save_descriptors(out, all, map.header());
  fmt::print("{}: {} descriptors of {} dims\n", out, places.size(), map.header().dim);
}

CLI::App* with_map(CLI::App& command, const char* name, const char* purpose, std::string& file) {
  CLI::App* made = command.add_subcommand(name, purpose);
  made->add_option("map", file, "map file")->required()->type_name("MAP");
  return made;
}

void add_build(CLI::App& command) {
  auto state = std::make_shared<Build>();
  CLI::App* build =
      command.add_subcommand("build", "Describe a folder's pictures and write the map");
  build->add_option("folder", state->folder, "folder of pictures, searched with its subfolders")
      ->required()
      ->type_name("FOLDER");
  build->add_option("--out", state->out, "map to write, e.g. places.ria")
      ->required()
      ->type_name("FILE");
  build->add_option("--storage", state->storage, "values of a descriptor: float, half or int8")
      ->capture_default_str()
      ->type_name("NAME");
  state->method.add(*build, false);
  build->callback([state] { state->run(); });
}

void add_changes(CLI::App& command) {
  auto adding = std::make_shared<Add>();
  CLI::App* add = with_map(command, "add", "Add a folder's pictures to a map", adding->file);
  add->add_option("folder", adding->folder, "folder of pictures; those in the map are left out")
      ->required()
      ->type_name("FOLDER");
  adding->flags.add_runtime(*add);
  add->callback([adding] { adding->run(); });

  struct Lists {
    std::string file, out;
    std::vector<std::string> names;
  };
  auto lists = std::make_shared<Lists>();
  CLI::App* removing = with_map(command, "remove", "Remove places from a map", lists->file);
  removing->add_option("names", lists->names, "names of places")->required()->type_name("NAME...");
  removing->callback([lists] { remove(lists->file, lists->names); });

  auto merging = std::make_shared<Lists>();
  CLI::App* merged = command.add_subcommand("merge", "Write one map of the places of several");
  merged->add_option("maps", merging->names, "map files")->required()->type_name("MAP...");
  merged->add_option("--out", merging->out, "map to write")->required()->type_name("FILE");
  merged->callback([merging] { merge(merging->names, merging->out); });
}

}  // namespace

void add_index(CLI::App& program) {
  CLI::App* command = program.add_subcommand("index", "Build, change or inspect a map of places");
  command->require_subcommand(1);
  add_build(*command);
  add_changes(*command);

  auto file = std::make_shared<std::string>();
  with_map(*command, "info", "Say what a map holds and how it was made", *file)->callback([file] {
    print_info(*file);
  });
  with_map(*command, "check", "Find damage in a map", *file)->callback([file] { check(*file); });
  auto out = std::make_shared<std::string>();
  CLI::App* exported =
      with_map(*command, "export", "Write a map's descriptors and names for other tools", *file);
  exported->add_option("--out", *out, "x.npy, or x.h5 as hloc reads it")
      ->required()
      ->type_name("FILE");
  exported->callback([file, out] { export_descriptors(*file, *out); });
}

}  // namespace ria::cli
