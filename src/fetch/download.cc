// SPDX-License-Identifier: MIT
#include "fetch/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "archive/bytes.h"
#include "fetch/partial_file.h"
#include "fetch/transfer.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

bool is_hexadecimal(const std::string& text) {
  return std::all_of(
      text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void check_url(const std::string& url) {
  std::string start = url.substr(0, 8);
  for (char& c : start) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool plain =
      std::all_of(url.begin(), url.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (plain && (start.starts_with("http://") || start == "https://")) return;
  throw std::invalid_argument(
      fmt::format("url is '{}', http://... or https://... was expected", printable(url)));
}

/// One download: attempts until the file is whole.
class Download {
 public:
  Download(std::string url, const fs::path& target, const DownloadOptions& options)
      : url_(std::move(url)), options_(options), partial_(target, url_) {}

  ~Download() {
    if (partial_.size() == 0) partial_.discard();
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  void run() {
    std::uint64_t reached = partial_.size();
    for (int failures = 0;;) {
      const TransferResult result = attempt();
      if (result.end == TransferEnd::kWhole) break;
      const bool advanced = partial_.size() > reached;
      reached = std::max(reached, partial_.size());
      heard_ = heard_ || advanced;
      judge(result);
      failures = advanced ? 1 : failures + 1;
      if (failures > options_.retries) throw failed(result.reason);
      pause(options_.retry_seconds * static_cast<double>(1ull << std::min(failures - 1, 20)));
    }
    check();
    partial_.finish();
  }

 private:
  std::runtime_error failed(const std::string& reason) const {
    return std::runtime_error(fmt::format("cannot download {}: {}", url_, reason));
  }

  DownloadInterrupted interrupted() const {
    return DownloadInterrupted(
        total_ > 0 ? fmt::format("interrupted after {} of {} bytes", partial_.size(), total_)
                   : fmt::format("interrupted after {} bytes", partial_.size()));
  }

  TransferResult attempt() {
    if (options_.stop.stop_requested()) throw interrupted();
    // A part of nobody knows what state of the file cannot be continued.
    if (partial_.validator().empty() && partial_.size() > 0) partial_.start_over("");
    TransferRequest request;
    request.url = url_;
    request.offset = partial_.size();
    request.validator = partial_.validator();
    request.stall_seconds = options_.stall_seconds;
    request.redirects = options_.redirects;
    request.stop = options_.stop;
    TransferResult result = transfer(
        request,
        [this](const TransferHead& head) { return accept(head); },
        [this](std::span<const std::uint8_t> bytes) {
          partial_.append(bytes);
          if (options_.progress) options_.progress(partial_.size(), total_);
        });
    const bool whole = result.end == TransferEnd::kWhole;
    if (whole && total_ > 0 && partial_.size() != total_) {
      return {TransferEnd::kBroken,
              result.status,
              fmt::format("{} bytes came, {} were announced", partial_.size(), total_)};
    }
    return result;
  }

  /// The answer goes on where the partial file ends, or starts over; another part is refused.
  bool accept(const TransferHead& head) {
    total_ = head.total;
    if (head.status == 200) {
      partial_.start_over(head.validator);
      return true;
    }
    // A server that knows no If-Range sends the rest of a file that has changed meanwhile.
    const bool same_file = head.validator == partial_.validator();
    if (partial_.size() > 0 && head.start == partial_.size() && same_file) return true;
    partial_.start_over("");
    return false;
  }

  /// Throws unless another attempt makes sense.
  void judge(const TransferResult& result) {
    constexpr int kRangeNotSatisfiable = 416;
    if (result.end == TransferEnd::kStopped) throw interrupted();
    if (result.status == kRangeNotSatisfiable && partial_.size() > 0) {
      partial_.start_over("");
      return;
    }
    const bool lost = result.end == TransferEnd::kUnreachable && heard_;
    if (result.end != TransferEnd::kBroken && !lost) throw failed(result.reason);
  }

  void pause(double seconds) const {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(
        lock, options_.stop, std::chrono::duration<double>(seconds), [] { return false; });
  }

  void check() {
    if (partial_.size() == 0) throw failed("the server sent an empty file");
    std::string expected = options_.sha256;
    for (char& c : expected) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string sha256 = partial_.sha256();
    if (sha256.starts_with(expected)) return;
    partial_.discard();
    throw std::runtime_error(
        fmt::format("{} is not the published file: its sha256 is {}, {}{} "
                    "was expected",
                    url_,
                    sha256,
                    expected,
                    expected.size() < 64 ? "..." : ""));
  }

  std::string url_;
  const DownloadOptions& options_;
  PartialFile partial_;
  std::uint64_t total_ = 0;
  bool heard_ = false;  // the server has sent something in this run
};

}  // namespace

void DownloadOptions::validate() const {
  if (!url.empty()) check_url(url);
  if (!sha256.empty() && (sha256.size() < 8 || sha256.size() > 64 || !is_hexadecimal(sha256))) {
    throw std::invalid_argument(
        fmt::format("sha256 is '{}', 8 to 64 hexadecimal digits were expected", printable(sha256)));
  }
  if (stall_seconds < 1) {
    throw std::invalid_argument(
        fmt::format("stall_seconds is {}, at least 1 was expected", stall_seconds));
  }
  if (retries < 0 || redirects < 0 || !(retry_seconds >= 0)) {
    throw std::invalid_argument(fmt::format(
        "retries, redirects and retry_seconds are {}, {} and {}, 0 or more was expected",
        retries,
        redirects,
        retry_seconds));
  }
}

void download_file(const std::string& url, const fs::path& target, const DownloadOptions& options) {
  check_url(url);
  options.validate();
  Download(url, target, options).run();
}

}  // namespace ria
