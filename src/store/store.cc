// SPDX-License-Identifier: MIT
#include "ria/store.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "util/files.h"
#include "weights/npy.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

fs::path beside(fs::path file, const char* ending) { return file.replace_extension(ending); }

void save_npy(const fs::path& file, const Descriptions& d, const IndexHeader& header) {
  std::string names;
  for (const std::string& name : d.names) names += name + "\n";
  AtomicFile names_file(beside(file, ".names.txt"));
  names_file.write(names);
  const nlohmann::json record{{"method", header.method},
                              {"options", nlohmann::json::parse(header.options)},
                              {"weights_sha256", header.weights_sha256},
                              {"ria_version", header.ria_version},
                              {"dim", header.dim},
                              {"count", d.names.size()}};
  AtomicFile record_file(beside(file, ".json"));
  record_file.write(record.dump(2) + "\n");
  // All three or none: only renaming is left to the small ones when the large one stands.
  names_file.sync();
  record_file.sync();
  write_npy(file, d.descriptors.data(), d.descriptors.rows(), d.descriptors.cols());
  names_file.commit();
  record_file.commit();
}

/// An HDF5 identifier that is checked when made and closed when left.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const fs::path& file) : id_(id), close_(close) {
    if (id < 0)
      throw std::runtime_error(fmt::format("cannot write {}: HDF5 refused", file.string()));
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class H5Writer {
 public:
  explicit H5Writer(const fs::path& file)
      : target_(file),
        file_(H5Fcreate(target_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              H5Fclose,
              file),
        links_(H5Pcreate(H5P_LINK_CREATE), H5Pclose, file),
        name_(file) {
    H5Pset_create_intermediate_group(links_, 1);
  }

  template <typename T>
  void dataset(const std::string& path, hid_t type, const T* values, hsize_t count) {
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, name_);
    const Handle set(H5Dcreate2(file_, path.c_str(), type, space, links_, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose,
                     name_);
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  }

  void attribute(const char* key, const std::string& value) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, name_);
    H5Tset_size(type, std::max<std::size_t>(value.size(), 1));
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, name_);
    const Handle attribute(
        H5Acreate2(file_, key, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name_);
    check(H5Awrite(attribute, type, value.c_str()));
  }

  void commit() {
    check(H5Fflush(file_, H5F_SCOPE_GLOBAL));
    target_.commit();
  }

 private:
  void check(herr_t status) const {
    if (status < 0)
      throw std::runtime_error(fmt::format("cannot write {}: HDF5 refused", name_.string()));
  }

  AtomicFile target_;
  Handle file_;
  Handle links_;
  fs::path name_;
};

/// HDF5 keeps one path once: absolute paths lose their root, and ".." has no meaning inside the
/// file.
std::string group_name(const std::string& name) {
  return fs::path(name).lexically_normal().relative_path().generic_string();
}

void save_h5(const fs::path& file, const Descriptions& d, const IndexHeader& header) {
  // After a failed write HDF5's own clean-up at exit touches the closed file again and crashes.
  static const herr_t no_exit_handler = H5dont_atexit();
  static_cast<void>(no_exit_handler);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to report
  H5Writer out(file);
  std::set<std::string> written;  // a picture given twice is kept once
  for (std::size_t i = 0; i < d.names.size(); ++i) {
    const std::string group = group_name(d.names[i]);
    if (!written.insert(group).second) continue;
    const std::int64_t size[2] = {d.image_sizes[i][1], d.image_sizes[i][0]};  // hloc: width, height
    out.dataset(group + "/global_descriptor",
                H5T_NATIVE_FLOAT,
                d.descriptors.row(static_cast<Eigen::Index>(i)).data(),
                static_cast<hsize_t>(d.descriptors.cols()));
    out.dataset(group + "/image_size", H5T_NATIVE_INT64, size, 2);
  }
  out.attribute("method", header.method);
  out.attribute("options", header.options);
  out.attribute("weights_sha256", header.weights_sha256);
  out.attribute("ria_version", header.ria_version);
  out.commit();
}

}  // namespace

void save_descriptors(const fs::path& file,
                      const Descriptions& descriptions,
                      const IndexHeader& header) {
  if (file.extension() == ".npy") return save_npy(file, descriptions, header);
  if (file.extension() == ".h5") return save_h5(file, descriptions, header);
  throw std::invalid_argument(
      fmt::format("{}: an output ending in .npy or .h5 was expected", file.string()));
}

}  // namespace ria
