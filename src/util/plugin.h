// SPDX-License-Identifier: MIT
// Parts of ria that are loaded when they are needed. A plugin is a file libria-NAME.so: the code
// that speaks with one heavy or optional library, behind a table of functions. Nothing of libria is
// linked into it; what it needs it is handed.
#pragma once

#include <string>

#include "ria/version.h"

namespace ria {

/// Why a plugin is wanted, and what helps if it cannot be had.
struct PluginUse {
  std::string name;     ///< "hdf5": the file is libria-hdf5.so
  std::string purpose;  ///< "writing x.h5"
  std::string library;  ///< "HDF5"
  std::string remedy;   ///< "apt-get install libhdf5-103-1"
};

/// What a plugin's only exported function returns. This struct never changes, so that a plugin of
/// any version can be asked for its own.
struct PluginEntry {
  const char* ria_version;
  const void* functions;
};

/// The plugin's table of functions; loads the file at the first call, from RIA_PLUGIN_DIR if that
/// is set, else from ria/ beside the library (installed) or from the library's own folder (built).
/// Any thread may call it. Throws std::runtime_error: one line with the purpose, the file or
/// library that is missing, damaged or of another version of ria, and the remedy.
const void* load_plugin(const PluginUse& use);

/// load_plugin() as the table that the folder's header declares.
template <typename Functions>
const Functions& plugin(const PluginUse& use) {
  return *static_cast<const Functions*>(load_plugin(use));
}

}  // namespace ria

/// Makes `table` what the plugin NAME offers; once in its sources, outside all namespaces.
#define RIA_PLUGIN(name, table)                                                                   \
  extern "C" __attribute__((visibility("default"))) const ria::PluginEntry* ria_plugin_##name() { \
    static const ria::PluginEntry entry{RIA_VERSION, &(table)};                                   \
    return &entry;                                                                                \
  }
