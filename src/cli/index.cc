// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "util/files.h"

namespace ria::cli {

namespace {

struct Build {
  std::string folder, out;
  MethodFlags method;

  void run() {
    const std::string name = method.methods()[0];
    check_writable(out);
    const auto pictures = list_pictures(folder);
    RunOptions options = run_options("indexing", method.num_threads());
    options.names_relative_to = folder;
    Recognizer recognizer(name, method.options());
    recognizer.fit(pictures, options);
    Descriptions described = recognizer.describe(pictures, options);
    report_failures(described.failures, pictures.size());
    recognizer.finish(described, static_cast<int>(pictures.size()));
    const Index index = recognizer.index(described);
    index.save(out);
    fmt::print("{}: {} places, {} dims by {}\n",
               out,
               index.size(),
               index.header().dim,
               index.header().method);
  }
};

void print_info(const std::string& file) {
  const Index index = Index::load(file);
  const IndexHeader& header = index.header();
  fmt::print("file            {}\nmethod          {}\nplaces          {}\ndim             {}\n",
             file,
             header.method,
             index.size(),
             header.dim);
  fmt::print("options         {}\nweights sha256  {}\nria version     {}\n",
             header.options,
             header.weights_sha256.empty() ? "none needed" : header.weights_sha256,
             header.ria_version);
}

}  // namespace

void add_index(CLI::App& program) {
  CLI::App* command = program.add_subcommand("index", "Build or inspect an index of known places");
  command->require_subcommand(1);

  auto state = std::make_shared<Build>();
  CLI::App* build =
      command->add_subcommand("build", "Describe a folder's pictures and write the index");
  build->add_option("folder", state->folder, "folder of pictures, searched with its subfolders")
      ->required()
      ->type_name("FOLDER");
  build->add_option("--out", state->out, "index to write, e.g. places.ria")
      ->required()
      ->type_name("FILE");
  state->method.add(*build, false);
  build->callback([state] { state->run(); });

  auto file = std::make_shared<std::string>();
  CLI::App* info = command->add_subcommand("info", "Say what an index holds and how it was made");
  info->add_option("index", *file, "index file")->required()->type_name("FILE");
  info->callback([file] { print_info(*file); });
}

}  // namespace ria::cli
