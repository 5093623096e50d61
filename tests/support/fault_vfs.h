// SPDX-License-Identifier: MIT
// A disk that fails when told to and remembers the order of everything written to it, so that a
// test can see what a loss of power would have left.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace ria {

/// SQLite's default file system for as long as it lives.
class FaultVfs {
 public:
  FaultVfs() : real_(sqlite3_vfs_find(nullptr)) {
    current() = this;
    vfs_ = *real_;
    vfs_.zName = "ria-test-faults";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = &open;
    vfs_.xDelete = &remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FaultVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    current() = nullptr;
  }
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  int syncs_to_failure = -1;           ///< how many more syncs succeed; -1: all
  std::int64_t bytes_to_failure = -1;  ///< how much more can be written; -1: everything

  std::size_t steps() const { return log_.size(); }

  /// What is on the disk if the power fails after so many steps: all that was synced, and of the
  /// rest any sectors.
  std::map<std::string, std::string> after_power_loss(std::size_t steps,
                                                      std::mt19937& random) const {
    std::map<std::string, std::size_t> synced;
    for (std::size_t i = 0; i < steps; ++i) {
      if (log_[i].kind == Kind::kSync) synced[log_[i].file] = i;
    }
    std::map<std::string, std::string> files;
    for (std::size_t i = 0; i < steps; ++i) {
      const Step& step = log_[i];
      const bool certain = synced.contains(step.file) && i < synced[step.file];
      if (step.kind == Kind::kDelete) {
        if (step.offset != 0 || random() % 2 == 0) files.erase(step.file);
        continue;
      }
      std::string& content = files[step.file];
      if (step.kind == Kind::kTruncate && (certain || random() % 2 == 0)) {
        content.resize(static_cast<std::size_t>(step.offset));
      }
      for (std::size_t at = 0; at < step.data.size(); at += kSector) {
        if (!certain && random() % 2 == 0) continue;
        const std::string sector = step.data.substr(at, kSector);
        const std::size_t to = static_cast<std::size_t>(step.offset) + at;
        if (content.size() < to + sector.size()) content.resize(to + sector.size());
        content.replace(to, sector.size(), sector);
      }
    }
    return files;
  }

 private:
  static constexpr std::size_t kSector = 512;
  enum class Kind { kWrite, kTruncate, kSync, kDelete };
  struct Step {
    Kind kind;
    std::string file;
    std::int64_t offset = 0;  ///< kTruncate: the size; kDelete: whether the folder is synced
    std::string data;
  };
  struct File {
    sqlite3_file base;
    std::string* name;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

  static FaultVfs*& current() {
    static FaultVfs* only = nullptr;
    return only;
  }
  static File* own(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return own(file)->real(); }
  void remember(Kind kind, sqlite3_file* file, std::int64_t offset = 0, std::string data = "") {
    log_.push_back({kind, *own(file)->name, offset, std::move(data)});
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    File* made = own(file);
    made->base.pMethods = nullptr;
    const int code =
        current()->real_->xOpen(current()->real_, name, made->real(), flags, out_flags);
    if (code != SQLITE_OK) return code;
    made->name = new std::string(name != nullptr ? name : "");
    made->base.pMethods = methods();
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs*, const char* name, int sync_folder) {
    current()->log_.push_back({Kind::kDelete, name, sync_folder, ""});
    return current()->real_->xDelete(current()->real_, name, sync_folder);
  }
  static int close(sqlite3_file* file) {
    delete own(file)->name;
    return real(file)->pMethods->xClose(real(file));
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    std::int64_t& left = current()->bytes_to_failure;
    if (left >= 0 && left < size) return SQLITE_FULL;
    if (left >= 0) left -= size;
    current()->remember(
        Kind::kWrite, file, offset, std::string(static_cast<const char*>(data), size));
    return real(file)->pMethods->xWrite(real(file), data, size, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    current()->remember(Kind::kTruncate, file, size);
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  static int sync(sqlite3_file* file, int flags) {
    int& left = current()->syncs_to_failure;
    if (left == 0) return SQLITE_IOERR_FSYNC;
    if (left > 0) --left;
    current()->remember(Kind::kSync, file);
    return real(file)->pMethods->xSync(real(file), flags);
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods all = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;
      m.xClose = &close;
      m.xRead = [](sqlite3_file* f, void* p, int n, sqlite3_int64 at) {
        return real(f)->pMethods->xRead(real(f), p, n, at);
      };
      m.xWrite = &write;
      m.xTruncate = &truncate;
      m.xSync = &sync;
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) {
        return real(f)->pMethods->xFileSize(real(f), n);
      };
      m.xLock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xLock(real(f), l); };
      m.xUnlock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); };
      m.xCheckReservedLock = [](sqlite3_file* f, int* r) {
        return real(f)->pMethods->xCheckReservedLock(real(f), r);
      };
      m.xFileControl = [](sqlite3_file* f, int op, void* p) {
        return real(f)->pMethods->xFileControl(real(f), op, p);
      };
      m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) {
        return real(f)->pMethods->xDeviceCharacteristics(real(f));
      };
      m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** p) {
        return real(f)->pMethods->xShmMap(real(f), page, size, extend, p);
      };
      m.xShmLock = [](sqlite3_file* f, int at, int n, int flags) {
        return real(f)->pMethods->xShmLock(real(f), at, n, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
      m.xShmUnmap = [](sqlite3_file* f, int remove) {
        return real(f)->pMethods->xShmUnmap(real(f), remove);
      };
      return m;
    }();
    return &all;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  std::vector<Step> log_;
};

}  // namespace ria
