// SPDX-License-Identifier: MIT
// Where the library ends.
//
// What carries RIA_API is exported; all else, templates and third-party code included, stays
// inside. Only std types of a fixed layout and plain structs cross, so that a caller may be
// compiled with any -O, -march or -fsanitize, by g++ or clang++ with libstdc++.
#pragma once

#define RIA_API __attribute__((visibility("default")))
