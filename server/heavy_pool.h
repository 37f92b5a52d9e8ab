// A few threads of low priority for the calls that may take long, so that they
// neither hold the threads that gRPC calls back on nor take the processors from
// short calls. It knows nothing of calls: what runs here is a function.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mansard::server {

// Half of the hardware's threads, at least one.
int DefaultHeavyThreads();

// Thread-safe. Jobs start in the order of their submission.
class HeavyPool {
 public:
  // Preconditions: `thread_count` >= 1, `queue_limit` >= 0.
  HeavyPool(int thread_count, int queue_limit);
  // Runs what is queued, then ends the threads.
  ~HeavyPool();
  HeavyPool(const HeavyPool&) = delete;
  HeavyPool& operator=(const HeavyPool&) = delete;

  // False, and the job never runs, where no thread is free and `queue_limit`
  // jobs wait already. Never blocks.
  bool Submit(std::function<void()> job);

  size_t queue_limit() const { return queue_limit_; }

 private:
  void RunJobs();

  const size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  std::deque<std::function<void()>> queue_;
  size_t free_threads_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace mansard::server
