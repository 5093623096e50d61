// SPDX-License-Identifier: MIT
// What a callable named in a pickle means to us.
#pragma once

#include <string>
#include <string_view>

namespace ria {

/// Nothing named in a pickle is ever looked up or run. What is done instead:
enum class PickleCall {
  dictionary,  ///< OrderedDict and its kind: read as a dict
  rebuilder,   ///< tensors, NumPy arrays, scikit-learn's PCA: name, arguments and state are kept
  encoder,     ///< _codecs.encode: bytes as protocol 2 writes them
  forbidden,   ///< it would run a program, load code or touch files: the whole file is refused
  foreign,     ///< any other class: an opaque value without members, skipped by the readers
};

/// The rule for the last two. Checkpoints carry objects of any package (argparse.Namespace,
/// Lightning's callbacks, OmegaConf containers, pathlib.PosixPath, datetime), so a list of what is
/// harmless would never end: an unknown class is foreign. Forbidden are the modules of the standard
/// library, of NumPy and of torch that execute, import, open or call what they are given, in whole
/// (os, subprocess, importlib, functools ...) or but for their data types (builtins, io, types).
/// An honest state dict calls none of them. `global` is "module name".
PickleCall classify_call(std::string_view global);

/// "posix system" as Python writes it, "posix.system", fit for a message.
std::string callable_name(std::string_view global);

}  // namespace ria
