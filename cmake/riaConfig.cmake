# SPDX-License-Identifier: MIT
include(CMakeFindDependencyMacro)
find_dependency(Eigen3)
include(${CMAKE_CURRENT_LIST_DIR}/riaTargets.cmake)
