// Working memory of the kernels.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace jj {

template <class S>
constexpr int64_t kAlign = 64 / sizeof(S);  // scalars of a cache line

inline int64_t round_up(int64_t n, int64_t m) { return (n + m - 1) / m * m; }

constexpr std::size_t kHugePage = std::size_t(1) << 21;

// Asks for huge pages where [address, address + bytes) has not been touched: a fault for each small page of fresh memory
// costs several times as much as writing to it. Does nothing where the system knows no such request.
inline void advise_huge_pages(std::uintptr_t address, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const std::uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
    const std::uintptr_t last = (address + bytes) / kHugePage * kHugePage;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
    (void)address, (void)bytes;
#endif
}

template <class S>
class Buffer {
  public:
    explicit Buffer(int64_t size) {
        const std::size_t needed = static_cast<std::size_t>(size) * sizeof(S);
        const std::size_t align = needed < kHugePage ? 64 : kHugePage;
        const std::size_t bytes = (needed / align + 1) * align;  // aligned_alloc takes multiples only
        data_.reset(static_cast<S*>(std::aligned_alloc(align, bytes)));
        if (!data_) throw std::bad_alloc();
        if (align == kHugePage) advise_huge_pages(reinterpret_cast<std::uintptr_t>(data_.get()), bytes);
    }
    S* get() const { return data_.get(); }

  private:
    struct Free {
        void operator()(S* p) const { std::free(p); }
    };
    std::unique_ptr<S, Free> data_;
};

// A buffer that stays with the process, up to a size: fresh pages would cost more than the passes over it. A second
// caller at the same time gets one of its own.
template <class S>
class Workspace {
  public:
    explicit Workspace(int64_t size) : lock_(mutex_, std::try_to_lock) {
        const int64_t bytes = size * static_cast<int64_t>(sizeof(S));
        if (!lock_ || bytes > kMost) {
            own_ = std::make_unique<Buffer<char>>(bytes);
        } else if (!kept_ || bytes > kept_size_) {
            kept_.reset();
            kept_ = std::make_unique<Buffer<char>>(bytes);
            kept_size_ = bytes;
        }
    }
    S* get() const { return reinterpret_cast<S*>((own_ ? own_ : kept_)->get()); }

  private:
    static constexpr int64_t kMost = int64_t(1) << 28;
    static inline std::mutex mutex_;
    static inline std::unique_ptr<Buffer<char>> kept_;
    static inline int64_t kept_size_ = 0;
    std::unique_lock<std::mutex> lock_;
    std::unique_ptr<Buffer<char>> own_;
};

}  // namespace jj
