# SPDX-License-Identifier: MIT
# ONNX Runtime: headers and library of a release, or of a distribution. ONNXRuntime_ROOT names the folder
# that holds them (include/ and lib/) where they are not installed.
set(ONNXRuntime_ROOT "" CACHE PATH "Folder of ONNX Runtime, with include/ and lib/; empty: where it is installed")
find_path(ONNXRuntime_INCLUDE_DIR onnxruntime_cxx_api.h
          PATH_SUFFIXES onnxruntime onnxruntime/core/session include/onnxruntime include/onnxruntime/core/session)
find_library(ONNXRuntime_LIBRARY onnxruntime)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNXRuntime REQUIRED_VARS ONNXRuntime_LIBRARY ONNXRuntime_INCLUDE_DIR)
mark_as_advanced(ONNXRuntime_LIBRARY ONNXRuntime_INCLUDE_DIR)
if(ONNXRuntime_FOUND AND NOT TARGET ONNXRuntime::onnxruntime)
  add_library(ONNXRuntime::onnxruntime UNKNOWN IMPORTED)
  set_target_properties(ONNXRuntime::onnxruntime PROPERTIES IMPORTED_LOCATION "${ONNXRuntime_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${ONNXRuntime_INCLUDE_DIR}")
endif()
