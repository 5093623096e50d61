// SPDX-License-Identifier: MIT
#include "ria/serve.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"

namespace ria::cli {

namespace {

struct Serve {
  ServeOptions options;
  MethodFlags flags;
  double drain_seconds = 30;

  void run() {
    options.backbone = flags.options().backbone;
    options.num_threads = flags.num_threads();
    be_patient(static_cast<int>(1000 * drain_seconds));
    ServeListener listener;
    listener.ready = [&](const std::string& url) {
      fmt::print("ria serves {} on {}\n",
                 options.maps.size() == 1 ? options.maps.front().string() : "maps",
                 url);
      std::fflush(stdout);
    };
    listener.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    listener.remark = [](const std::string& remark) { fmt::print(stderr, "ria: {}\n", remark); };
    serve(options, listener, stop_on_interrupt());
  }
};

void add_limits(CLI::App& command, Serve& state) {
  const auto add = [&](const char* name, auto& field, const char* help) {
    command.add_option(name, field, help)->capture_default_str()->group("Limits");
  };
  ServeOptions& options = state.options;
  add("--max_queue", options.max_queue, "pictures that wait; beyond it 429");
  add("--max_connections", options.max_connections, "clients at a time; beyond it 503");
  add("--max_body", options.max_body, "megabytes of a request");
  add("--max_pixels", options.max_pixels, "millions, of a picture");
  add("--max_drives", options.max_drives, "drives at a time");
  add("--request_seconds", options.request_seconds, "for the bytes of a request");
  add("--idle_seconds", options.idle_seconds, "between two requests of a connection");
  add("--drive_seconds", options.drive_seconds, "a drive without frames is ended");
  add("--drain_seconds", state.drain_seconds, "at a signal, for what was begun");
}

}  // namespace

void add_serve(CLI::App& program) {
  auto state = std::make_shared<Serve>();
  ServeOptions& options = state->options;
  CLI::App* command = program.add_subcommand("serve", "Answer over HTTP, with a page to try it");
  command->add_option("maps", options.maps, "map files, or folders of them")
      ->required()
      ->type_name("MAP|FOLDER...");
  command->add_option("--port", options.port, "0: any that is free")->capture_default_str();
  command->add_option("--host", options.host, "address to listen on; 0.0.0.0: all")
      ->capture_default_str()
      ->type_name("ADDRESS");
  command->add_option("--tokens", options.tokens, "lines 'read TOKEN' and 'write TOKEN'")
      ->type_name("FILE");
  command->add_option("--certificate", options.certificate, "for TLS, PEM")->type_name("FILE");
  command->add_option("--key", options.key, "of the certificate, PEM")->type_name("FILE");
  command->add_option("--pictures", options.pictures, "originals, by the places' names")
      ->type_name("FOLDER");
  command->add_flag("--read_only", options.read_only, "maps are not changed");
  command->add_option("--log", options.log, "a line a request: text, json or none")
      ->capture_default_str()
      ->type_name("NAME");
  state->flags.add_runtime(*command);
  add_limits(*command, *state);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
