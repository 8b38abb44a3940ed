#include "common/parallel.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace jj {
namespace {

using GompParallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
using ThreadNum = int (*)();

GompParallel gomp_parallel = nullptr;
ThreadNum thread_num = nullptr;

// Each thread begins with a share of its own, the same one in every job of this size: what it wrote last is still in its
// caches. Then it helps the others.
struct Job {
    struct alignas(64) Share {
        std::atomic<int64_t> next;
        int64_t end;
    };
    static constexpr int kShares = 64;
    Share shares[kShares];
    Task task;
    void* context;
    int threads, count;
    Job(int64_t items, int t, Task f, void* c) : task(f), context(c), threads(t), count(t < kShares ? t : kShares) {
        for (int i = 0; i < count; ++i) {
            shares[i].next.store(items * i / count, std::memory_order_relaxed);
            shares[i].end = items * (i + 1) / count;
        }
    }
    void work(int thread) {
        for (int k = 0; k < count; ++k) {
            Share& share = shares[(thread + k) % count];
            for (int64_t i; (i = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
                task(context, i, thread);
        }
    }
};

class Pool {
  public:
    // False if another thread is using the pool.
    bool run(Job& job) {
        std::unique_lock<std::mutex> busy(busy_, std::try_to_lock);
        if (!busy) return false;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            while (static_cast<int>(workers_.size()) < job.threads - 1) {
                const int thread = static_cast<int>(workers_.size()) + 1;
                workers_.emplace_back([this, thread, seen = generation_] { loop(thread, seen); });
            }
            job_ = &job;
            running_ = static_cast<int>(workers_.size());
            ++generation_;
        }
        wake_.notify_all();
        job.work(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return running_ == 0; });
        job_ = nullptr;
        return true;
    }

  private:
    void loop(int thread, uint64_t seen) {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            Job* job = job_;
            lock.unlock();
            if (thread < job->threads) job->work(thread);
            lock.lock();
            if (--running_ == 0) done_.notify_one();
        }
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    Job* job_ = nullptr;
    int running_ = 0;
    uint64_t generation_ = 0;
};

// Never destroyed: its threads sleep until the process ends. A child process has none of them and starts its own.
std::atomic<Pool*> pool{nullptr};
std::mutex pool_mutex;

Pool& get_pool() {
    std::lock_guard<std::mutex> lock(pool_mutex);
    if (!pool) pool = new Pool;
    return *pool;
}

// A forked child inherits an OpenMP runtime whose threads are gone, and a parallel region there would wait for them
// for ever.
void after_fork_in_child() {
    gomp_parallel = nullptr;
    pool = nullptr;
    new (&pool_mutex) std::mutex;
}

#if defined(__unix__) || defined(__APPLE__)
const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
#endif

}  // namespace

void use_openmp(void* parallel, void* get_thread_num) {
    gomp_parallel = reinterpret_cast<GompParallel>(parallel);
    thread_num = reinterpret_cast<ThreadNum>(get_thread_num);
}

const char* thread_backend() { return gomp_parallel ? "openmp" : "pool"; }

void parallel_run(int64_t items, int threads, Task task, void* context) {
    if (items < threads) threads = static_cast<int>(items);
    Job job(items, threads, task, context);
    if (threads <= 1) {
        job.work(0);
    } else if (gomp_parallel) {
        gomp_parallel([](void* p) { static_cast<Job*>(p)->work(thread_num()); }, &job, threads, 0);
    } else if (!get_pool().run(job)) {
        job.work(0);
    }
}

}  // namespace jj
