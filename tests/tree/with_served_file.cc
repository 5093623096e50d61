// SPDX-License-Identifier: MIT
// with_served_file FILE PROGRAM ARG...: runs the program with the address of a server on 127.0.0.1
// that sends the file as its last argument.
#include <cstdio>

#include "support/loopback_server.h"
#include "support/run_program.h"
#include "util/files.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string content = ria::read_text(argv[1]);
  const ria::LoopbackServer server(
      [&](const ria::HttpRequest& request, int, ria::HttpConnection& connection) {
        ria::serve_file(request, connection, {content});
      });
  ria::cli_test::Args args(argv + 3, argv + argc);
  args.push_back(server.url("/file"));
  const auto result = ria::cli_test::Program(argv[2], args, {.folder = "."}).wait();
  std::fputs(result.err.c_str(), stderr);
  return result.exit_code;
}
