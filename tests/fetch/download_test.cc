// SPDX-License-Identifier: MIT
// Downloads from servers that behave and servers that do not.
#include "fetch/download.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "fetch/partial_file.h"
#include "support/error_message.h"
#include "support/loopback_server.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "util/files.h"
#include "util/hash.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Request = HttpRequest;
using Connection = HttpConnection;

std::string noise(std::size_t size, unsigned seed = 1) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return text;
}

class Downloads : public ::testing::Test {
 protected:
  Downloads() {
    options_.retry_seconds = 0.01;
    options_.stall_seconds = 5;
  }

  void serve(LoopbackServer::Handler handler) { server_.emplace(std::move(handler)); }

  /// The first answer breaks off after kBroken bytes, the others are whole.
  void serve_broken_once(const ServedFile& file) {
    serve([file](const Request& request, int number, Connection& connection) {
      serve_file(request, connection, file, number == 0 ? kBroken : std::string::npos);
    });
  }

  void download() { download_file(server_->url("/file"), target_, options_); }
  std::string failure() {
    return message_of([this] { download(); });
  }

  bool nothing_left() const { return fs::is_empty(folder_.path()); }
  std::string asked(int number, const std::string& header) const {
    return server_->requests().at(static_cast<std::size_t>(number)).header(header);
  }

  static constexpr std::size_t kBroken = 70'000;
  const std::string content_ = noise(200'000);
  TemporaryFolder folder_;
  const fs::path target_ = folder_ / "file";
  const fs::path partial_ = folder_ / "file.partial";
  DownloadOptions options_;
  std::optional<LoopbackServer> server_;
};

TEST_F(Downloads, WholeFileWithProgress) {
  serve([&](const Request& request, int, Connection& connection) {
    serve_file(request, connection, {content_});
  });
  std::uint64_t last = 0, total = 0;
  options_.sha256 = sha256_text(content_);
  options_.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  };
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(last, content_.size());
  EXPECT_EQ(total, content_.size());
  EXPECT_EQ(server_->requests().size(), 1u);
  EXPECT_EQ(asked(0, "range"), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(Downloads, ProxiesAreNotAskedForThisMachine) {
  serve([&](const Request& request, int, Connection& connection) {
    serve_file(request, connection, {content_});
  });
  const char* before = ::getenv("http_proxy");
  const std::optional<std::string> kept =
      before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("http_proxy", "http://127.0.0.1:9", 1);
  const std::string message = failure();
  kept ? ::setenv("http_proxy", kept->c_str(), 1) : ::unsetenv("http_proxy");
  EXPECT_EQ(message, "nothing was thrown");
}

TEST_F(Downloads, BrokenConnectionGoesOnWhereItStopped) {
  serve_broken_once({content_});
  options_.sha256 = sha256_text(content_);
  download();
  EXPECT_EQ(read_text(target_), content_);
  ASSERT_EQ(server_->requests().size(), 2u);
  EXPECT_EQ(asked(1, "range"), "bytes=70000-");
  EXPECT_EQ(asked(1, "if-range"), "\"one\"");
}

TEST_F(Downloads, NextCallGoesOnWhereTheLastStopped) {
  serve_broken_once(
      {content_, "ETag: W/\"weak\"\r\nLast-Modified: Tue, 01 Oct 2024 10:00:00 GMT\r\n"});
  options_.retries = 0;
  EXPECT_TRUE(contains(failure(), server_->url("/file")));
  EXPECT_EQ(read_text(partial_), content_.substr(0, kBroken));
  EXPECT_FALSE(fs::exists(target_));
  options_.sha256 = sha256_text(content_);  // of both parts
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(1, "range"), "bytes=70000-");
  EXPECT_EQ(asked(1, "if-range"), "Tue, 01 Oct 2024 10:00:00 GMT");  // a weak ETag proves nothing
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(Downloads, PartOfAnotherAddressIsNotUsed) {
  serve_broken_once({content_});
  options_.retries = 0;
  failure();
  download_file(server_->url("/other"), target_, options_);
  EXPECT_EQ(asked(1, "range"), "");
  EXPECT_EQ(read_text(target_), content_);
}

TEST_F(Downloads, PartWithoutAWordWhatItIsIsNotUsed) {
  for (const std::string record : {"", "{", "[1]", R"({"url": 1, "validator": "x"})"}) {
    serve([&](const Request& request, int, Connection& connection) {
      serve_file(request, connection, {content_});
    });
    spill(partial_, "from elsewhere");
    spill(folder_ / "file.partial.json", record);
    download();
    EXPECT_EQ(asked(0, "range"), "");
    EXPECT_EQ(read_text(target_), content_);
  }
}

TEST_F(Downloads, ServerWithoutRangesStartsOver) {
  serve_broken_once({content_, "ETag: \"one\"\r\n", false});
  options_.sha256 = sha256_text(content_);
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(1, "range"), "bytes=70000-");
}

TEST_F(Downloads, ServerThatNamesNoStateIsNotAskedForAPart) {
  serve_broken_once({content_, ""});
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(1, "range"), "");
}

TEST_F(Downloads, FileThatChangedMeanwhileStartsOver) {
  for (const bool if_range : {true, false}) {
    const std::string changed = noise(150'000, 9);
    serve([&](const Request& request, int number, Connection& connection) {
      if (number == 0) return serve_file(request, connection, {content_}, kBroken);
      serve_file(request, connection, {changed, "ETag: \"two\"\r\n", true, if_range});
    });
    options_.sha256 = sha256_text(changed);
    download();
    EXPECT_EQ(read_text(target_), changed);
    EXPECT_EQ(asked(1, "range"), "bytes=70000-");
    EXPECT_EQ(server_->requests().size(), if_range ? 2u : 3u);
    server_.reset();
  }
}

TEST_F(Downloads, AnotherPartThanAskedStartsOver) {
  serve([&](const Request& request, int number, Connection& connection) {
    if (number != 1)
      return serve_file(request, connection, {content_}, number == 0 ? kBroken : std::string::npos);
    connection.send(
        "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Range: bytes 5-9/200000\r\n"
        "Content-Length: 5\r\nConnection: close\r\n\r\n" +
        content_.substr(5, 5));
  });
  options_.sha256 = sha256_text(content_);
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(2, "range"), "");
}

TEST_F(Downloads, PartLongerThanTheFileStartsOver) {
  const std::string shorter = content_.substr(0, 1000);
  serve([&](const Request& request, int number, Connection& connection) {
    if (number == 0) return serve_file(request, connection, {content_}, kBroken);
    serve_file(request, connection, {shorter, "ETag: \"one\"\r\n"});
  });
  download();
  EXPECT_EQ(read_text(target_), shorter);
  EXPECT_EQ(server_->requests().size(), 3u);
}

TEST_F(Downloads, WrongHashLeavesNothing) {
  serve([&](const Request& request, int, Connection& connection) {
    serve_file(request, connection, {content_});
  });
  options_.sha256 = "0123456789";
  const std::string message = failure();
  for (const std::string& part : {server_->url("/file"), sha256_text(content_), options_.sha256}) {
    EXPECT_TRUE(contains(message, part)) << message;
  }
  EXPECT_TRUE(nothing_left());
  options_.sha256 = sha256_text(content_).substr(0, 8);  // the first digits are enough
  download();
}

TEST_F(Downloads, MissingFileIsAskedForOnce) {
  serve([](const Request&, int, Connection& connection) {
    connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone");
  });
  EXPECT_TRUE(contains(failure(), "404"));
  EXPECT_EQ(server_->requests().size(), 1u);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Downloads, BusyServerIsAskedAgainAFewTimes) {
  serve([&](const Request& request, int number, Connection& connection) {
    if (number == 2) return serve_file(request, connection, {content_});
    connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  download();
  EXPECT_EQ(read_text(target_), content_);
  serve([](const Request&, int, Connection&) {});  // hangs up
  options_.retries = 3;
  EXPECT_TRUE(contains(failure(), "cannot download"));
  EXPECT_EQ(server_->requests().size(), 4u);
}

TEST_F(Downloads, RedirectsAreFollowedToHttpOnly) {
  std::string to;
  serve([&](const Request& request, int, Connection& connection) {
    if (request.target == "/moved") return serve_file(request, connection, {content_});
    connection.send("HTTP/1.1 302 Found\r\nETag: \"of the redirect\"\r\nLocation: " + to +
                    "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  to = "/moved";
  download();
  EXPECT_EQ(read_text(target_), content_);
  fs::remove(target_);
  spill(folder_ / "secret", "of this machine");
  to = "file://" + (folder_ / "secret").string();
  EXPECT_TRUE(contains(failure(), "rotocol")) << failure();
  EXPECT_FALSE(fs::exists(target_));
  to = server_->url("/file");  // to itself
  options_.redirects = 3;
  const std::size_t before = server_->requests().size();
  EXPECT_TRUE(contains(failure(), "redirects"));
  EXPECT_EQ(server_->requests().size(), before + 4);
}

TEST_F(Downloads, EmptyFileIsRefused) {
  serve([](const Request& request, int, Connection& connection) {
    serve_file(request, connection, {""});
  });
  EXPECT_TRUE(contains(failure(), "empty"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(Downloads, SilentServerCountsAsBroken) {
  serve([&](const Request& request, int number, Connection& connection) {
    serve_file(request, connection, {content_}, number == 0 ? kBroken : std::string::npos);
    if (number == 0) connection.stall();
  });
  options_.stall_seconds = 1;
  const auto start = std::chrono::steady_clock::now();
  download();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(1, "range"), "bytes=70000-");
}

TEST_F(Downloads, StopKeepsWhatIsThere) {
  serve([&](const Request& request, int number, Connection& connection) {
    serve_file(request, connection, {content_}, number == 0 ? kBroken : std::string::npos);
    if (number == 0) connection.stall();
  });
  std::stop_source source;
  options_.stop = source.get_token();
  options_.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == kBroken) source.request_stop();
  };
  EXPECT_THROW(download(), DownloadInterrupted);
  EXPECT_EQ(read_text(partial_), content_.substr(0, kBroken));
  EXPECT_TRUE(contains(failure(), "70000"));  // still asked to stop: no request
  EXPECT_EQ(server_->requests().size(), 1u);
  options_.stop = {};
  download();
  EXPECT_EQ(read_text(target_), content_);
  EXPECT_EQ(asked(1, "range"), "bytes=70000-");
}

TEST_F(Downloads, OnlyOneAtATime) {
  serve([&](const Request& request, int, Connection& connection) {
    serve_file(request, connection, {content_});
  });
  {
    const PartialFile other(target_, "http://127.0.0.1/other");
    EXPECT_TRUE(contains(failure(), "another process"));
  }
  download();
}

TEST_F(Downloads, BadOptionsAreNamed) {
  for (const std::string url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "", "http://a b"}) {
    EXPECT_THROW(download_file(url, target_, options_), std::invalid_argument) << url;
  }
  const auto refused = [&](const std::string& field, const auto& change) {
    DownloadOptions bad;
    change(bad);
    const std::string message = message_of([&] { bad.validate(); });
    EXPECT_TRUE(contains(message, field)) << message;
  };
  refused("url", [](DownloadOptions& o) { o.url = "gopher://x"; });
  refused("sha256", [](DownloadOptions& o) { o.sha256 = "abc"; });
  refused("sha256", [](DownloadOptions& o) { o.sha256 = "nothexadecimal"; });
  refused("stall_seconds", [](DownloadOptions& o) { o.stall_seconds = 0; });
  refused("retries", [](DownloadOptions& o) { o.retries = -1; });
  EXPECT_TRUE(contains(
      message_of([&] { download_file("http://127.0.0.1:9/x", folder_ / "none" / "x", options_); }),
      (folder_ / "none" / "x").string()));
}

TEST_F(Downloads, UnreachableServerIsNotWaitedFor) {
  options_.retry_seconds = 60;
  EXPECT_TRUE(contains(
      message_of([&] { download_file("http://127.0.0.1:9/x", target_, options_); }), "127.0.0.1"));
  EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace ria
