// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "ria/optimise.h"
#include "ria/push.h"
#include "ria/store.h"
#include "util/files.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

void print_places(const std::string& file, int places, const MapHeader& header) {
  fmt::print("{}: {} places, {} dims by {}\n", file, places, header.dim, header.method);
}

void print_search(const SearchInfo& info) {
  if (info.bytes == 0) {  // there is no structure
    fmt::print("search          {}{}{}\n", info.kind, info.note.empty() ? "" : ": ", info.note);
    return;
  }
  const std::string how =
      info.ef > 0
          ? fmt::format("{} places in a graph, {} in sight", info.places, info.ef)
          : fmt::format(
                "{} places in {} lists, {} looked into", info.places, info.lists, info.probes);
  fmt::print("search          {}: {}, {} refined; {} bytes a place\n",
             info.kind,
             how,
             info.refined,
             info.bytes / static_cast<std::size_t>(std::max(1, info.places)));
  fmt::print("recall          {:.3f} of {} held-out pictures find what exact search finds\n",
             info.recall,
             info.held_out);
}

/// --search and --max_memory.
struct SearchFlags {
  OptimiseOptions options;

  void add(CLI::App& command) {
    command
        .add_option(
            "--search",
            options.search,
            "how places are found: exact, ivfpq (lists; needs FAISS to be made), hnsw (a graph; "
            "needs FAISS too, and more memory), or auto, which is ivfpq where places are many")
        ->capture_default_str()
        ->type_name("NAME");
    command
        .add_option("--max_memory",
                    options.max_memory,
                    "bytes that making the search structure may take, e.g. 2GB")
        ->transform(CLI::AsSizeValue(true))
        ->type_name("BYTES");
  }
  /// Before long work is done for it.
  void check() const {
    options.validate();
    check_search(options.search);
  }
  SearchInfo run(const std::string& file) {
    options.progress = progress_line("optimising");
    options.stop = stop_on_interrupt();
    return optimise_map(file, options);
  }
};

struct Build {
  std::string folder, out, storage = to_string(Storage::kHalf);
  MethodFlags method;
  SearchFlags search;
  ShardFlag shard;

  void run() {
    const std::string name = method.methods()[0];
    const Storage kept = parse_storage(storage);
    search.check();
    check_writable(out);
    const auto pictures = list_pictures(folder);
    RunOptions options = run_options("indexing", method.num_threads());
    options.names_relative_to = folder;
    Recognizer recognizer(name, method.options());
    const auto own = shard.of(pictures, recognizer);
    recognizer.fit(pictures, options);
    Descriptions described = recognizer.describe(own, options);
    report_failures(described.failures, own.size());
    recognizer.finish(described, static_cast<int>(own.size()));
    int places = 0;
    Map::build(out, recognizer.header(), kept, [&](Map& map) {
      map.set_fitted(recognizer.fitted());
      places = recognizer.add(described, map);
    });
    const SearchInfo info = search.run(out);
    print_places(out, places, recognizer.header());
    if (info.kind != "exact") print_search(info);
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
    print_places(map.file().string(), map.size(), map.header());
  }

  static constexpr int kTogether = 64;
};

void remove(const std::string& file, const std::vector<std::string>& names) {
  Map map = Map::open(file, Access::kWrite);
  std::vector<int> places;
  for (const std::string& name : names) {
    const std::vector<int> found = map.find(name);
    if (found.empty()) {
      throw std::runtime_error(fmt::format("{} has no place '{}'", map.file().string(), name));
    }
    places.insert(places.end(), found.begin(), found.end());
  }
  map.remove(places);
  print_places(map.file().string(), map.size(), map.header());
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

void push(const std::string& file, const std::string& server, PushOptions options) {
  options.progress = progress_line("pushing");
  options.remark = [](const std::string& text) {
    fmt::print(stderr, "{}ria: {}\n", progress_line_end(), text);
  };
  options.stop = stop_on_interrupt();
  const Map map = Map::open(file);
  const int added = [&] {
    try {
      return push_map(map, server, options);
    } catch (const std::invalid_argument& error) {
      if (!Map::exists(server)) throw;
      throw std::runtime_error(error.what());
    }
  }();
  const Map there = Map::open(server);
  fmt::print("{}: {} of {} places added, {} there, {} dims by {}\n",
             there.file().string(),
             added,
             map.size(),
             there.size(),
             there.header().dim,
             there.header().method);
}

void print_info(const std::string& file) {
  const Map map = Map::open(file);
  const MapHeader& header = map.header();
  fmt::print("file            {}\nmethod          {}\nplaces          {}\ndim             {}\n",
             map.file().string(),
             header.method,
             map.size(),
             header.dim);
  fmt::print("storage         {}\nlocal features  {}\nbytes           {}\n",
             to_string(map.storage()),
             map.has_locals() ? "yes" : "no",
             map.bytes());
  print_search(map.search_info());
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
    throw std::runtime_error(
        fmt::format("{} is damaged: {} found", map.file().string(), problems.size()));
  }
  fmt::print("{}: whole, {} places\n", map.file().string(), map.size());
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
  state->search.add(*build);
  state->shard.add(*build);
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

void add_push(CLI::App& command) {
  struct Push {
    std::string file, server;
    PushOptions options;
  };
  auto state = std::make_shared<Push>();
  CLI::App* push_ = with_map(
      command, "push", "Bring a map's places to a PostgreSQL server with pgvector", state->file);
  push_->add_option("server", state->server, "postgresql://user@host/database?schema=ria")
      ->required()
      ->type_name("SERVER");
  PushOptions& o = state->options;
  push_->add_option("--shards", o.shards, "partitions of a new map")->capture_default_str();
  push_->add_option("--search", o.search, "exact, hnsw, or auto: hnsw from 10,000 places on")
      ->capture_default_str()
      ->type_name("NAME");
  push_->add_option("--m", o.m, "neighbours of a place in the HNSW index")->capture_default_str();
  push_->add_option("--ef_construction", o.ef_construction, "places in sight while it is built")
      ->capture_default_str();
  push_->callback([state] { push(state->file, state->server, state->options); });
}

}  // namespace

void add_index(CLI::App& program) {
  CLI::App* command = program.add_subcommand("index", "Build, change or inspect a map of places");
  command->require_subcommand(1);
  add_build(*command);
  add_changes(*command);
  add_push(*command);

  struct Optimise {
    std::string file;
    SearchFlags search;
  };
  auto optimise = std::make_shared<Optimise>();
  CLI::App* optimised = with_map(
      *command, "optimise", "Make or renew what a large map is searched by", optimise->file);
  optimise->search.add(*optimised);
  optimised->callback([optimise] { print_search(optimise->search.run(optimise->file)); });

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
