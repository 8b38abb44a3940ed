// Arrays of exactly the size that they state, so that the sanitizer sees every step beyond them. Outputs begin as a mark
// that must be gone after a call where there are numbers, and must still be there in the gaps between rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/matrix.h"
#include "kernels/header.h"

namespace fuzz {

using jj::Index;
using jj::Matrix;

enum class Fault { none, more_rows, fewer_rows, wider, narrower, overlapping, missing, gap, scalar, count };

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Memory = std::unique_ptr<void, Free>;

template <class S>
S mark() {
    S x;
    if (sizeof(S) == 4) {
        const uint32_t bits = 0x7FC0DEADu;
        std::memcpy(&x, &bits, sizeof x);
    } else {
        const uint64_t bits = 0x7FF8DEADDEADDEADu;
        std::memcpy(&x, &bits, sizeof x);
    }
    return x;
}

template <class S>
bool is_mark(S x) {
    const S m = mark<S>();
    return std::memcmp(&x, &m, sizeof x) == 0;
}

// Without gaps or with them. free: with gaps, and no other argument states their number. The last two may be missing.
enum class Rows { dense, spaced, free, optional, dense_optional };

template <class S>
class Arrays {
  public:
    Arrays(const Header& header, double size, bool wild)
        : header_(header), size_(size), wild_(wild), random_(header.number() ^ 0xA55A),
          fault_(static_cast<Fault>(header.fault < 192 ? 0 : 1 + header.fault % 8)) {}

    // Numbers of the case, row by row; `scale` times its size.
    Matrix<S> input(int64_t rows, int64_t width, Rows kind = Rows::spaced, double scale = 1) {
        const Matrix<S> x = allocate(rows, width, kind);
        fill(x, scale);
        return x;
    }
    // Packed rows, zero in their padding.
    Matrix<S> packed(int64_t rows, const jj::Layout& layout, Rows kind = Rows::spaced) {
        const Matrix<S> x = input(rows, layout.stride, kind);
        clear_padding(x, layout);
        return x;
    }
    Matrix<S> output(const char* name, int64_t rows, int64_t width, Rows kind = Rows::spaced) {
        const Matrix<S> x = allocate(rows, width, kind);
        outputs_.push_back({name, x});
        return x;
    }
    // The columns [first, first + width) of x.
    static Matrix<S> columns(const Matrix<S>& x, int64_t first, int64_t width) {
        return {x.data + first, x.rows, width, x.stride};
    }
    Index index(const std::vector<int64_t>& given, bool wide, bool required = true) {
        std::vector<int64_t> values = given;
        bool stated = wide;
        if (here()) {
            if (fault_ == Fault::more_rows) values.push_back(values.empty() ? 0 : values.back()), broken_ = true;
            if (fault_ == Fault::fewer_rows && !values.empty()) values.pop_back(), broken_ = true;
            if (fault_ == Fault::wider) stated = !wide, broken_ = true;
            if (fault_ == Fault::narrower && !values.empty()) values.clear(), broken_ = true;
            if (fault_ == Fault::missing && required && !values.empty())
                return broken_ = true, Index{nullptr, count(values), wide};
        }
        const size_t item = stated ? 8 : 4;
        memory_.emplace_back(std::malloc(values.size() * item));
        for (size_t i = 0; i < values.size(); ++i) {
            if (stated)
                static_cast<int64_t*>(memory_.back().get())[i] = values[i];
            else
                static_cast<int32_t*>(memory_.back().get())[i] = static_cast<int32_t>(values[i]);
        }
        return {memory_.back().get(), count(values), stated};
    }
    // A number of the case, or an impossible one in its place.
    int64_t scalar(int64_t value) {
        constexpr int64_t top = std::numeric_limits<int64_t>::max();
        constexpr int64_t impossible[] = {0, -1, -1000, top, top / 2 + 2, int64_t(1) << 60};
        if (!here() || fault_ != Fault::scalar) return value;
        broken_ = true;
        return impossible[header_.seed[0] % 6];
    }
    // The same for a number of threads, which is an int: a larger one would become another number, perhaps a possible one.
    int threads(int value) {
        constexpr int impossible[] = {0, -1, -1000, std::numeric_limits<int>::min()};
        if (!here() || fault_ != Fault::scalar) return value;
        broken_ = true;
        return impossible[header_.seed[0] % 4];
    }
    // Whether a list of arrays is to miss its last.
    bool too_short() {
        if (!here() || fault_ != Fault::fewer_rows) return false;
        return broken_ = true;
    }

    // Arrays made from here on are as they should be, or not.
    void allow_faults(bool allowed) { allowed_ = allowed; }
    // Whether something that was made so far is stated wrongly: then a call must refuse it.
    bool broken() const { return broken_; }
    // Whether all numbers are of a usual size, and results must be finite.
    bool tame() const { return !wild_; }

    void reset_outputs() {
        for (const Named& out : outputs_)
            for (int64_t i = 0; i < extent(out.x); ++i) out.x.data[i] = mark<S>();
    }
    // Bits of all outputs; the marks must be where they belong.
    std::vector<unsigned char> read_outputs() const {
        std::vector<unsigned char> bits;
        for (const Named& out : outputs_) {
            for (int64_t r = 0; r < out.x.rows; ++r) {
                const S* row = out.x.row(r);
                for (int64_t i = 0; i < out.x.width; ++i) {
                    if (is_mark(row[i])) finding(out.name, "a number was not written");
                    if (tame() && !std::isfinite(row[i])) finding(out.name, "not finite, for finite input");
                }
                for (int64_t i = out.x.width; i < out.x.stride && r + 1 < out.x.rows; ++i)
                    if (!is_mark(row[i])) finding(out.name, "the gap between rows was written to");
            }
            const auto* bytes = reinterpret_cast<const unsigned char*>(out.x.data);
            bits.insert(bits.end(), bytes, bytes + extent(out.x) * sizeof(S));
        }
        return bits;
    }

    void fill(const Matrix<S>& x, double scale) {
        for (int64_t i = 0; i < extent(x); ++i) x.data[i] = mark<S>();
        for (int64_t r = 0; r < x.rows && x.data; ++r)
            for (int64_t i = 0; i < x.width; ++i) x.row(r)[i] = static_cast<S>(value() * scale);
    }
    static void clear_padding(const Matrix<S>& x, const jj::Layout& layout) {
        for (int64_t r = 0; r < x.rows && x.data; ++r)
            for (int64_t i = 0; i < x.width; ++i)
                if (i % layout.padded >= layout.heads || i >= layout.channels * layout.padded) x.row(r)[i] = 0;
    }

  private:
    struct Named {
        const char* name;
        Matrix<S> x;
    };

    static int64_t count(const std::vector<int64_t>& x) { return static_cast<int64_t>(x.size()); }
    // Scalars from the first to the last.
    static int64_t size(const Matrix<S>& x) { return x.rows > 0 ? (x.rows - 1) * x.stride + x.width : 0; }
    static int64_t extent(const Matrix<S>& x) { return x.data ? size(x) : 0; }
    // Whether the argument at hand is the one to be wrong.
    bool here() { return allowed_ && at_++ == header_.fault_at % 40 && fault_ != Fault::none; }

    double value() {
        if (wild_ && header_.values >= 240) {
            constexpr double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e300, -1e38, 1e-310, 1};
            if (random_.below(4) == 0) return special[random_.below(9)];
        }
        return random_.uniform() * size_;
    }

    Matrix<S> allocate(int64_t rows, int64_t width, Rows kind) {
        const bool dense = kind == Rows::dense || kind == Rows::dense_optional;
        const bool required = kind == Rows::dense || kind == Rows::spaced;
        int64_t gap = dense || header_.gaps % 4 == 0 ? 0 : random_.below(1 + header_.gaps % 19);
        bool missing = false;
        if (here()) {
            const int64_t rows_then = rows, width_then = width;
            if (fault_ == Fault::more_rows && kind != Rows::free) ++rows;
            if (fault_ == Fault::fewer_rows && kind != Rows::free && rows > 0) --rows;
            if (fault_ == Fault::wider) ++width;
            if (fault_ == Fault::narrower) --width;
            broken_ |= rows != rows_then || width != width_then;
            if (fault_ == Fault::overlapping && rows > 1) gap = -1, broken_ = true;
            if (fault_ == Fault::gap && dense && rows > 1) gap = 1, broken_ = true;
            if (fault_ == Fault::missing && required && rows > 0 && width > 0) missing = broken_ = true;
        }
        Matrix<S> x{nullptr, rows, width, width + gap};
        if (missing) return x;
        const int64_t offset = header_.gaps / 64 % 2;  // numbers need not begin on 16 bytes
        const int64_t items = std::max<int64_t>(size(x), 0);  // the width may be less than none
        memory_.emplace_back(std::malloc((items + offset) * sizeof(S)));
        x.data = static_cast<S*>(memory_.back().get()) + offset;
        return x;
    }

    const Header& header_;
    double size_;
    bool wild_;
    Random random_;
    Fault fault_;
    bool broken_ = false, allowed_ = true;
    int at_ = 0;
    std::vector<Memory> memory_;
    std::vector<Named> outputs_;
};

}  // namespace fuzz
