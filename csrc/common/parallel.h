// Threads: torch's own OpenMP runtime if the Python side found it, else a small pool that sleeps when idle.
#pragma once

#include <cstdint>

namespace jj {

// Addresses of GOMP_parallel and omp_get_thread_num in the runtime torch uses.
void use_openmp(void* gomp_parallel, void* get_thread_num);

// "openmp" or "pool": what the next parallel call uses.
const char* thread_backend();

using Task = void (*)(void* context, int64_t item, int thread);

// Calls task(context, i, thread) once for each i in [0, items) in no particular order; thread < threads. Which thread
// takes an item depends on chance, so an item must own what it writes.
void parallel_run(int64_t items, int threads, Task task, void* context);

template <class F>
void parallel_for(int64_t items, int threads, F&& f) {
    parallel_run(
        items, threads, [](void* context, int64_t item, int thread) { (*static_cast<F*>(context))(item, thread); }, &f);
}

}  // namespace jj
