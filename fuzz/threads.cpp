// The thread pool under the thread sanitizer: several callers at once, jobs of random sizes, nested jobs.
//
//     fuzz_threads SECONDS
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "common/parallel.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCallers = 3, kMostThreads = 6;

void fail(const char* what) {
    std::fprintf(stderr, "fuzz_threads: %s\n", what);
    std::abort();
}

// Each item must run once, by a thread below the number of threads, and what it wrote must be seen after the call.
void check_job(int64_t items, int threads, bool nested) {
    std::vector<int> times(items, 0), scratch(threads, 0);  // no atomics: items and threads own what they write
    jj::parallel_for(items, threads, [&](int64_t item, int thread) {
        if (thread < 0 || thread >= threads) fail("a thread's number is not below the number of threads");
        ++scratch[thread];
        if (nested && item % 16 == 0) check_job(item % 7, 2, false);
        ++times[item];
    });
    for (int count : times)
        if (count != 1) fail("an item did not run exactly once");
    int64_t sum = 0;
    for (int count : scratch) sum += count;
    if (sum != items) fail("threads ran another number of items than there are");
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::atomic<int64_t> jobs{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller)
        callers.emplace_back([&, caller] {
            std::mt19937 random(caller);
            while (Clock::now() < end) {
                const int64_t items = random() % 4 ? random() % 20 : random() % 2000;
                check_job(items, 1 + static_cast<int>(random() % kMostThreads), random() % 8 == 0);
                ++jobs;
            }
        });
    for (std::thread& caller : callers) caller.join();
    std::printf("threads: %lld jobs in %.0f s, no finding\n", static_cast<long long>(jobs.load()), seconds);
}
