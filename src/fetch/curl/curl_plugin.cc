// SPDX-License-Identifier: MIT
#include <curl/curl.h>
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "fetch/transfer.h"
#include "ria/version.h"
#include "util/plugin.h"

namespace ria {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : 0;
}

class Transfer {
 public:
  Transfer(const TransferRequest& request,
           const OnTransferHead& on_head,
           const OnTransferBytes& on_bytes)
      : request_(request),
        on_head_(on_head),
        on_bytes_(on_bytes),
        curl_(curl_easy_init(), &curl_easy_cleanup),
        headers_(nullptr, &curl_slist_free_all) {
    if (!curl_) throw std::runtime_error("libcurl cannot start");
    set_address();
    set_limits();
    set_callbacks();
    if (request.offset > 0) set_range();
  }

  TransferResult run() {
    const CURLcode code = curl_easy_perform(curl_.get());
    if (error_) std::rethrow_exception(error_);
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    const int answer = static_cast<int>(status);
    if (code == CURLE_OK && (answer == 200 || answer == 206)) {
      if (!announced_ && !announce()) return {TransferEnd::kBroken, answer, wrong_part()};
      return {TransferEnd::kWhole, answer, ""};
    }
    if (refused_head_) return {TransferEnd::kBroken, answer, wrong_part()};
    if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR) {
      const bool passing = answer == 408 || answer == 429 || answer >= 500;
      return {passing ? TransferEnd::kBroken : TransferEnd::kRefused,
              answer,
              fmt::format("the server answered {}", answer)};
    }
    return {end_of(code), answer, reason(code)};
  }

 private:
  static std::string wrong_part() { return "the server sent another part than was asked for"; }

  template <typename Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(curl_.get(), option, value);
    if (code != CURLE_OK) {
      throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
    }
  }

  void set_address() {
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_USERAGENT, "ria/" RIA_VERSION);
    // Whoever asked for an encrypted connection is not led away from it.
    const bool https = lower(request_.url).starts_with("https:");
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, https ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, static_cast<long>(request_.redirects));
    set(CURLOPT_FAILONERROR, 1L);
    // This machine is reached without a proxy, beside what the environment exempts.
    std::string direct = "127.0.0.1,localhost";
    for (const char* variable : {"no_proxy", "NO_PROXY"}) {
      if (const char* value = std::getenv(variable)) direct += std::string(",") + value;
    }
    set(CURLOPT_NOPROXY, direct.c_str());
    // As the curl program does: certificates of a company's own authority.
    for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
      const char* value = std::getenv(variable);
      if (value == nullptr || *value == '\0') continue;
      set(CURLOPT_CAINFO, value);
      break;
    }
  }

  void set_limits() {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(request_.stall_seconds));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_seconds));
  }

  void set_callbacks() {
    set(CURLOPT_ERRORBUFFER, message_);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_XFERINFODATA, this);
  }

  void set_range() {
    const std::string range = fmt::format("{}-", request_.offset);
    set(CURLOPT_RANGE, range.c_str());
    const std::string condition = "If-Range: " + request_.validator;
    headers_.reset(curl_slist_append(nullptr, condition.c_str()));
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  TransferEnd end_of(CURLcode code) const {
    switch (code) {
      case CURLE_ABORTED_BY_CALLBACK:
        return TransferEnd::kStopped;
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
        return TransferEnd::kUnreachable;
      case CURLE_PARTIAL_FILE:
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
      case CURLE_GOT_NOTHING:
      case CURLE_OPERATION_TIMEDOUT:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM:
        return TransferEnd::kBroken;
      default:
        return TransferEnd::kRefused;
    }
  }

  std::string reason(CURLcode code) const {
    return message_[0] != '\0' ? message_ : curl_easy_strerror(code);
  }

  /// Tells the caller of the answer; false: the caller wants none of it.
  bool announce() {
    announced_ = true;
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    head_.status = static_cast<int>(status);
    head_.validator = !etag_.empty() ? etag_ : last_modified_;
    refused_head_ = !on_head_(head_);
    return !refused_head_;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // of the first answer, or of the next after a redirect
      head_ = {};
      ranged_ = false;
      etag_.clear();
      last_modified_.clear();
      return;
    }
    const auto colon = line.find(':');
    if (colon == line.npos) return;
    const std::string name = lower(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "etag" && value.starts_with('"')) etag_ = value;  // a weak one proves nothing
    if (name == "last-modified") last_modified_ = value;
    if (name == "content-length" && !ranged_) head_.total = number(value);
    if (name == "content-range" && lower(value).starts_with("bytes ")) {
      head_.start = number(trimmed(value.substr(6)));
      const auto slash = value.find('/');
      head_.total = slash == value.npos ? 0 : number(value.substr(slash + 1));
      ranged_ = true;
    }
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& me = *static_cast<Transfer*>(self);
    return me.guarded([&] { me.take_header({data, size * count}); }) ? size * count : 0;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& me = *static_cast<Transfer*>(self);
    bool wanted = true;
    const bool fine = me.guarded([&] {
      wanted = me.announced_ || me.announce();
      if (wanted) me.on_bytes_({reinterpret_cast<const std::uint8_t*>(data), size * count});
    });
    return fine && wanted ? size * count : 0;
  }

  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->request_.stop.stop_requested() ? 1 : 0;
  }

  /// No exception may pass through libcurl.
  template <typename Action>
  bool guarded(const Action& action) {
    try {
      action();
      return true;
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }

  const TransferRequest& request_;
  const OnTransferHead& on_head_;
  const OnTransferBytes& on_bytes_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
  char message_[CURL_ERROR_SIZE] = "";
  TransferHead head_;
  std::string etag_, last_modified_;
  bool ranged_ = false, announced_ = false, refused_head_ = false;
  std::exception_ptr error_;
};

TransferResult transfer_by_curl(const TransferRequest& request,
                                const OnTransferHead& on_head,
                                const OnTransferBytes& on_bytes) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("libcurl cannot start");
  return Transfer(request, on_head, on_bytes).run();
}

constexpr CurlFunctions kFunctions{transfer_by_curl};

}  // namespace

}  // namespace ria

RIA_PLUGIN(curl, ria::kFunctions)
