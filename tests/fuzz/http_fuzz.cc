// SPDX-License-Identifier: MIT
// Requests for the service as a client may send them, over a socket: whatever the bytes are, what
// comes back is HTTP, an error says in JSON what was wrong, and none is the service's own fault.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "fuzz.h"
#include "ria/map.h"
#include "ria/serve.h"
#include "util/plugin.h"

extern "C" const ria::PluginEntry* ria_plugin_http();

namespace ria {

/// The plugin is linked in, to be watched as the rest is.
const void* load_plugin(const PluginUse&) { return ria_plugin_http()->functions; }

}  // namespace ria

namespace {

namespace fs = std::filesystem;

/// A service of a new map of three places, for a while: what is added must not add up.
class Served {
 public:
  Served() {
    const fs::path memory = "/dev/shm";
    folder_ = (fs::exists(memory) ? memory : fs::temp_directory_path()) /
              ("ria_fuzz_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    {
      ria::Map map = ria::Map::create(folder_ / "m.ria", {"rootsift-ria", "{}", "", "0", kDim});
      for (const char* name : {"a", "b.jpg", "@0500001.00@5400000.00@32@U@@@c@@@@@@@@.jpg"}) {
        map.add(ria::Matrix(1, kDim, std::vector<float>(kDim, 0.5f)), {ria::place_named(name)}, {});
      }
    }
    std::ofstream(folder_ / "tokens") << "write 0123456789abcdef\nread 0123456789abcdeg\n";
    std::promise<std::string> ready;
    thread_ = std::jthread([this, &ready](std::stop_token stop) {
      ria::ServeOptions options;
      options.maps = {folder_ / "m.ria"};
      options.port = 0;
      options.tokens = folder_ / "tokens";
      options.pictures = folder_;
      options.max_body = options.max_pixels = 1;
      options.num_threads = 1;
      options.request_seconds = 5;
      ria::ServeListener listener;
      listener.ready = [&](const std::string& url) { ready.set_value(url); };
      listener.log = [](const std::string& line) {
        if (line.find('\n') != line.npos) ria::fuzz::report("a log of several lines: " + line);
      };
      ria::serve(options, listener, stop);
    });
    const std::string url = ready.get_future().get();
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  ~Served() {
    thread_.request_stop();
    thread_.join();
    fs::remove_all(folder_);
  }

  /// Everything that comes back.
  std::string ask(const std::uint8_t* data, std::size_t size) const {
    const int client = connected();
    std::thread sender([&] {  // beside reading: an answer may come before all is sent
      for (std::size_t sent = 0; sent < size;) {
        const ssize_t count = ::send(client, data + sent, size - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;  // the fuzzer's clock
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
      }
      ::shutdown(client, SHUT_WR);
    });
    std::string answer;
    char some[8192];
    for (;;) {
      const ssize_t count = ::recv(client, some, sizeof some, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      answer.append(some, static_cast<std::size_t>(count));
    }
    sender.join();
    ::close(client);
    return answer;
  }

 private:
  int connected() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (;;) {
      const int client = ::socket(AF_INET, SOCK_STREAM, 0);
      if (::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        return client;
      }
      // A minute of connections may use up this side's ports; the fuzzer's clock may ring.
      if (errno != EADDRNOTAVAIL && errno != EINTR) {
        ria::fuzz::report(std::string("the service does not listen: ") + std::strerror(errno));
      }
      const bool later = errno == EADDRNOTAVAIL;
      ::close(client);
      if (later) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  static constexpr int kDim = 4;
  fs::path folder_;
  std::jthread thread_;
  std::uint16_t port_ = 0;
};

/// Of the first answer; a HEAD has no body.
void check(const std::string& answer, bool head_only) {
  if (answer.empty()) return;
  const std::size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || end == answer.npos) {
    ria::fuzz::report("this is no answer: " + answer.substr(0, 200));
  }
  const int status = std::atoi(answer.c_str() + 9);
  if (status == 500 || status < 100 || status > 599) ria::fuzz::report(answer.substr(0, 500));
  const std::size_t length = answer.find("\r\nContent-Length: ");
  if (status < 400 || head_only || length == answer.npos || length > end) return;
  const std::string body =
      answer.substr(end + 4, std::strtoul(answer.c_str() + length + 18, nullptr, 10));
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || json.size() != 1 || !json.contains("error")) {
    ria::fuzz::report("an error that is not told: " + answer.substr(0, 500));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kRequests = 1000;
  static std::optional<Served> served;
  static int requests = 0;
  if (requests++ % kRequests == 0) {
    served.reset();
    served.emplace();
  }
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A line that ends behind the word is refused, and still a HEAD.
  const bool head_only = text.find("HEAD ") != text.npos || text.find("HEAD\r") != text.npos;
  check(served->ask(data, size), head_only);
  return 0;
}
