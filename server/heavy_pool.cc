#include "server/heavy_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace mansard::server {
namespace {

// About a tenth of the processor time that a thread of normal priority gets
// where both want it.
constexpr int kNiceIncrement = 10;

// Linux keeps a nice value per thread; who = 0 is the calling one. Lowering a
// priority needs no right, so there is nothing to report.
void LowerPriorityOfThisThread() {
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceIncrement);
}

}  // namespace

int DefaultHeavyThreads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency() / 2));
}

HeavyPool::HeavyPool(int thread_count, int queue_limit)
    : queue_limit_(static_cast<size_t>(queue_limit)),
      free_threads_(static_cast<size_t>(thread_count)) {
  for (int i = 0; i < thread_count; ++i) {
    threads_.emplace_back([this] { RunJobs(); });
  }
}

HeavyPool::~HeavyPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool HeavyPool::Submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= free_threads_ + queue_limit_) return false;
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void HeavyPool::RunJobs() {
  LowerPriorityOfThisThread();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> job = std::move(queue_.front());
    queue_.pop_front();
    --free_threads_;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    ++free_threads_;
  }
}

}  // namespace mansard::server
