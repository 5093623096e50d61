// SPDX-License-Identifier: MIT
#include "archive/pickle_calls.h"

#include <algorithm>
#include <array>

#include "archive/bytes.h"

namespace ria {

namespace {

// Lists are texts of words with spaces between them; a global is "module:name".

constexpr std::string_view kDictionaries = "collections:OrderedDict collections:defaultdict";

constexpr std::string_view kRebuilders =
    "torch._utils:_rebuild_tensor_v2 torch._utils:_rebuild_tensor torch._utils:_rebuild_parameter "
    "torch._utils:_rebuild_parameter_with_state torch._tensor:_rebuild_from_type_v2 torch:Size "
    "numpy.core.multiarray:_reconstruct numpy._core.multiarray:_reconstruct "
    "numpy.core.multiarray:scalar numpy._core.multiarray:scalar numpy:dtype "
    // what a whitening was fitted with, by its old and its new place
    "sklearn.decomposition.pca:PCA sklearn.decomposition._pca:PCA";

/// With everything below them: "os" is os.path too.
constexpr std::string_view kForbiddenModules =
    // processes, code and modules
    "os posix nt posixpath ntpath sys subprocess _posixsubprocess pty commands popen2 platform "
    "importlib imp _imp runpy pkgutil zipimport code codeop pdb bdb timeit trace profile cProfile "
    "doctest unittest test site sitecustomize pip ensurepip setuptools distutils venv lib2to3 "
    "ctypes _ctypes cffi gc inspect atexit signal threading _thread thread multiprocessing asyncio "
    "concurrent "
    // callables made of others
    "operator _operator functools _functools itertools "
    // files and networks
    "shutil tempfile fileinput linecache mmap fcntl resource socket _socket socketserver ssl "
    "urllib urllib2 http httplib ftplib smtplib telnetlib xmlrpc webbrowser requests aiohttp "
    "paramiko "
    // other ways to unpickle
    "pickle _pickle cPickle pickletools marshal shelve dill cloudpickle joblib "
    "torch.hub torch.jit torch.package torch.serialization torch._dynamo torch.multiprocessing "
    "torch.utils.cpp_extension torch.utils.model_zoo torch.distributed.run "
    "numpy.lib numpy.testing numpy.f2py numpy.distutils numpy.ctypeslib";

/// Of modules that are otherwise data.
constexpr std::string_view kForbiddenNames =
    "torch:load torch:save torch:compile numpy:load numpy:loadtxt numpy:genfromtxt numpy:fromfile "
    "numpy:save numpy:savez numpy:savetxt numpy:memmap numpy:fromfunction numpy:vectorize "
    "numpy:frompyfunc numpy:apply_along_axis pandas:read_pickle pandas:eval "
    "pandas.io.pickle:read_pickle";

/// Modules with data types beside what is forbidden; these names only are allowed.
struct Mixed {
  std::string_view module;
  std::string_view data;
};
constexpr std::string_view kBuiltinData =
    "set frozenset list tuple dict int long float complex bool str unicode bytes bytearray slice "
    "range xrange object";
constexpr std::array<Mixed, 5> kMixedModules{{{"builtins", kBuiltinData},
                                              {"__builtin__", kBuiltinData},
                                              {"io", "BytesIO StringIO"},
                                              {"_io", "BytesIO StringIO"},
                                              {"types", "SimpleNamespace MappingProxyType"}}};

template <typename Predicate>
bool any_word(std::string_view words, Predicate predicate) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (predicate(words.substr(0, end))) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool one_of(std::string_view words, std::string_view text) {
  return any_word(words, [&](std::string_view word) { return word == text; });
}

bool is_or_below(std::string_view module, std::string_view parent) {
  return module.starts_with(parent) &&
         (module.size() == parent.size() || module[parent.size()] == '.');
}

bool forbidden(std::string_view module, std::string_view name) {
  for (const Mixed& mixed : kMixedModules) {
    if (is_or_below(module, mixed.module)) return !one_of(mixed.data, name);
  }
  // Protocol 4 may also say hub.load of the module torch.
  const std::string whole = std::string(module) + '.' + std::string(name);
  return any_word(kForbiddenModules, [&](std::string_view parent) {
    return is_or_below(module, parent) || is_or_below(whole, parent);
  });
}

}  // namespace

PickleCall classify_call(std::string_view global) {
  const std::size_t space = std::min(global.find(' '), global.size());
  const std::string_view module = global.substr(0, space);
  const std::string_view name = global.substr(std::min(space + 1, global.size()));
  const std::string whole = std::string(module) + ':' + std::string(name);
  if (one_of(kDictionaries, whole)) return PickleCall::dictionary;
  if (one_of(kRebuilders, whole)) return PickleCall::rebuilder;
  if (whole == "_codecs:encode") return PickleCall::encoder;
  if (one_of(kForbiddenNames, whole) || forbidden(module, name)) return PickleCall::forbidden;
  return PickleCall::foreign;
}

std::string callable_name(std::string_view global) {
  std::string out(global);
  std::replace(out.begin(), out.end(), ' ', '.');
  return printable(out);
}

}  // namespace ria
