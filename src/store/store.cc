// SPDX-License-Identifier: MIT
#include "ria/store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "store/hloc.h"
#include "tensor/npy.h"
#include "util/files.h"
#include "util/plugin.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

fs::path beside(fs::path file, const char* ending) { return file.replace_extension(ending); }

void save_npy(const fs::path& file, const Descriptions& d, const MapHeader& header) {
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
  AtomicFile values_file(file);
  write_npy(values_file, d.descriptors.data(), d.descriptors.rows(), d.descriptors.cols());
  // All three or none: only renaming is left when all are on the disk.
  for (AtomicFile* one : {&values_file, &names_file, &record_file}) one->sync();
  const auto held = hold_temporaries();
  for (AtomicFile* one : {&values_file, &names_file, &record_file}) one->commit();
}

/// HDF5 keeps one path once: absolute paths lose their root, and ".." has no meaning inside the
/// file.
std::string group_name(const std::string& name) {
  return fs::path(name).lexically_normal().relative_path().generic_string();
}

const Hdf5Functions& hdf5_for(const fs::path& file) {
  return plugin<Hdf5Functions>(
      {"hdf5", "writing " + file.string(), "HDF5", "apt-get install libhdf5-103-1"});
}

void save_h5(const fs::path& file, const Descriptions& d, const MapHeader& header) {
  HlocFile content;
  std::set<std::string> written;  // a picture given twice is kept once
  for (std::size_t i = 0; i < d.names.size(); ++i) {
    const std::string group = group_name(d.names[i]);
    if (!written.insert(group).second) continue;
    content.pictures.push_back({group,
                                d.descriptors.row(static_cast<int>(i)),
                                {d.image_sizes[i][1], d.image_sizes[i][0]}});
  }
  content.attributes = {{"method", header.method},
                        {"options", header.options},
                        {"weights_sha256", header.weights_sha256},
                        {"ria_version", header.ria_version}};
  const Hdf5Functions& hdf5 = hdf5_for(file);
  AtomicFile target(file);
  if (!hdf5.write(target.temporary().string(), content)) {
    throw std::runtime_error(fmt::format("cannot write {}: HDF5 refused", file.string()));
  }
  target.commit();
}

void check_ending(const fs::path& file) {
  if (file.extension() == ".npy" || file.extension() == ".h5") return;
  throw std::invalid_argument(
      fmt::format("{}: an output ending in .npy or .h5 was expected", file.string()));
}

}  // namespace

void check_descriptor_file(const fs::path& file) {
  check_ending(file);
  check_writable(file);
  if (file.extension() == ".h5") hdf5_for(file);
}

void save_descriptors(const fs::path& file,
                      const Descriptions& descriptions,
                      const MapHeader& header) {
  check_ending(file);
  if (file.extension() == ".h5") return save_h5(file, descriptions, header);
  save_npy(file, descriptions, header);
}

}  // namespace ria
