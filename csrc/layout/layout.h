// Rows from the standard to the packed layout, and back.
#pragma once

#include "common/matrix.h"

namespace jj {

// What both directions take.
template <class S>
struct Repack {
    int64_t heads = 0, channels = 0;
    Matrix<S> standard;  // [R, H * C]
    Matrix<S> packed;    // [R, stride]
    int threads = 1;
};

template <class S>
struct Pack : Repack<S> {};
template <class S>
struct Unpack : Repack<S> {};

template <class S>
void run(const Pack<S>& a);
template <class S>
void run(const Unpack<S>& a);

}  // namespace jj
