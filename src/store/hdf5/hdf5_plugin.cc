// SPDX-License-Identifier: MIT
#include <hdf5.h>

#include <algorithm>

#include "store/hloc.h"
#include "util/plugin.h"

namespace ria {

namespace {

struct Refused {};

void check(herr_t status) {
  if (status < 0) throw Refused();
}

/// An HDF5 identifier that is checked when made and closed when left.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    if (id < 0) throw Refused();
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Writer {
 public:
  explicit Writer(const std::string& file)
      : file_(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose),
        links_(H5Pcreate(H5P_LINK_CREATE), H5Pclose),
        sets_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose) {
    check(H5Pset_create_intermediate_group(links_, 1));
    check(H5Pset_obj_track_times(sets_, false));  // the same descriptors give the same bytes
  }

  template <typename T>
  void dataset(const std::string& path, hid_t type, std::span<const T> values) {
    const hsize_t count = values.size();
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Handle set(H5Dcreate2(file_, path.c_str(), type, space, links_, sets_, H5P_DEFAULT),
                     H5Dclose);
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }

  void attribute(const std::string& key, const std::string& value) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type, std::max<std::size_t>(value.size(), 1)));
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(H5Acreate2(file_, key.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    check(H5Awrite(attribute, type, value.c_str()));
  }

  void flush() { check(H5Fflush(file_, H5F_SCOPE_GLOBAL)); }

 private:
  Handle file_;
  Handle links_;
  Handle sets_;
};

bool write_by_hdf5(const std::string& file, const HlocFile& content) {
  // After a failed write HDF5's own clean-up at exit touches the closed file again and crashes.
  static const herr_t no_exit_handler = H5dont_atexit();
  static_cast<void>(no_exit_handler);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to report
  try {
    Writer out(file);
    for (const HlocPicture& picture : content.pictures) {
      out.dataset(picture.name + "/global_descriptor", H5T_NATIVE_FLOAT, picture.descriptor);
      out.dataset(picture.name + "/image_size",
                  H5T_NATIVE_INT64,
                  std::span<const std::int64_t>(picture.image_size));
    }
    for (const auto& [key, value] : content.attributes) out.attribute(key, value);
    out.flush();
    return true;
  } catch (const Refused&) {
    return false;
  }
}

constexpr Hdf5Functions kFunctions{write_by_hdf5};

}  // namespace

}  // namespace ria

RIA_PLUGIN(hdf5, ria::kFunctions)
