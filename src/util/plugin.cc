// SPDX-License-Identifier: MIT
#include "util/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace ria {

namespace {

namespace fs = std::filesystem;

std::runtime_error failure(const PluginUse& use, const std::string& reason) {
  return std::runtime_error(fmt::format("{} needs {}: {}", use.purpose, use.library, reason));
}

/// Of libria.so, or of the program that holds the library's objects.
fs::path own_folder() {
  Dl_info info;
  link_map* file = nullptr;
  ::dladdr1(reinterpret_cast<const void*>(&own_folder),
            &info,
            reinterpret_cast<void**>(&file),
            RTLD_DL_LINKMAP);
  // The loader knows no name for a program; its argv[0] need not be a path.
  const bool program = file == nullptr || *file->l_name == '\0';
  const fs::path name = program ? fs::read_symlink("/proc/self/exe") : fs::absolute(file->l_name);
  return fs::canonical(name.parent_path());
}

fs::path find_file(const PluginUse& use) {
  const std::string file = fmt::format("libria-{}.so", use.name);
  std::vector<std::string> folders;
  const char* chosen = ::secure_getenv("RIA_PLUGIN_DIR");
  if (chosen != nullptr && *chosen != '\0') {
    folders = {chosen};
  } else {
    const fs::path own = own_folder();
    folders = {(own / "ria").string(), own.string()};
  }
  for (const fs::path folder : folders) {
    std::error_code ignored;
    // A name with a slash: the loader searches no folders of its own.
    if (fs::exists(folder / file, ignored)) return fs::absolute(folder / file);
  }
  throw failure(
      use,
      fmt::format(
          "{} is not in {}; install ria with {}", file, fmt::join(folders, " or "), use.library));
}

/// The loader maps what the header promises, and a file that ends before would end the process.
/// Last in a file is the table of its sections.
bool cut_short(const fs::path& file) {
  ElfW(Ehdr) header;
  std::ifstream in(file, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header))
    return false;  // the loader says why
  std::error_code ignored;
  return fs::file_size(file, ignored) < header.e_shoff + header.e_shnum * header.e_shentsize;
}

/// The loader's message is "FILE: REASON", and FILE has no slash if it is a library that the plugin
/// wants and that was not found.
std::runtime_error not_loaded(const PluginUse& use, const std::string& message) {
  const std::string subject = message.substr(0, message.find(": "));
  if (subject.find('/') == subject.npos) {
    return failure(use, fmt::format("{} is missing; {}", subject, use.remedy));
  }
  return failure(use, fmt::format("{}; install ria again", message));
}

const void* open(const PluginUse& use) {
  const fs::path file = find_file(use);
  if (cut_short(file)) {
    throw failure(use, fmt::format("{} is damaged; install ria again", file.string()));
  }
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw not_loaded(use, ::dlerror());
  const auto entry = reinterpret_cast<const PluginEntry* (*)()>(
      ::dlsym(handle, fmt::format("ria_plugin_{}", use.name).c_str()));
  if (entry == nullptr) {
    throw failure(use, fmt::format("{} is no plugin of ria; install ria again", file.string()));
  }
  const PluginEntry& found = *entry();
  if (std::string_view(found.ria_version) != RIA_VERSION) {
    throw failure(use,
                  fmt::format("{} is of ria {}, {} was expected; install ria again",
                              file.string(),
                              found.ria_version,
                              RIA_VERSION));
  }
  return found.functions;
}

}  // namespace

const void* load_plugin(const PluginUse& use) {
  static std::mutex mutex;
  static std::map<std::string, const void*>
      loaded;  // for good: libraries do not like to be unloaded
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(use.name);
  if (found != loaded.end()) return found->second;
  return loaded[use.name] = open(use);
}

}  // namespace ria
