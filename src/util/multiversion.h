// SPDX-License-Identifier: MIT
#pragma once

/// Compiles a hot loop twice and picks at run time, so that what ships needs no AVX2. Left out
/// under thread sanitizer, whose runtime is not up yet when the choice is made. No FMA: results
/// are the same bits on every machine. For functions of an anonymous namespace: g++ exports the
/// versions of all others from the library.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define RIA_MULTIVERSION __attribute__((target_clones("avx2", "default")))
#else
#define RIA_MULTIVERSION
#endif
