# SPDX-License-Identifier: MIT
# libwebp and its reader of animations. Debian's package brings no file for CMake.
find_path(WebP_INCLUDE_DIR webp/demux.h)
find_library(WebP_LIBRARY webp)
find_library(WebP_DEMUX_LIBRARY webpdemux)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(WebP REQUIRED_VARS WebP_LIBRARY WebP_DEMUX_LIBRARY WebP_INCLUDE_DIR)
if(WebP_FOUND AND NOT TARGET WebP::webpdemux)
  add_library(WebP::webpdemux UNKNOWN IMPORTED)
  set_target_properties(WebP::webpdemux PROPERTIES IMPORTED_LOCATION "${WebP_DEMUX_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${WebP_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${WebP_LIBRARY}")
endif()
