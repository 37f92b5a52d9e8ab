#include "server/heavy_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace mansard::server {
namespace {

using ::testing::ElementsAre;

TEST(HeavyPool, RunsInOrderAndFinishesWhatIsQueued) {
  std::vector<int> ran;
  {
    HeavyPool pool(1, 10);
    for (int i = 1; i <= 5; ++i) {
      EXPECT_TRUE(pool.Submit([&ran, i] { ran.push_back(i); }));
    }
  }
  EXPECT_THAT(ran, ElementsAre(1, 2, 3, 4, 5));
}

struct LimitCase {
  int threads;
  int queue;
};

// As many jobs as there are threads run, as many as the limit wait.
TEST(HeavyPool, AFullQueueSaysNoAtOnce) {
  for (const LimitCase& row : {LimitCase{1, 0}, {1, 1}, {2, 3}, {4, 0}}) {
    std::atomic<int> ran = 0;
    {
      HeavyPool pool(row.threads, row.queue);
      std::latch release(1);
      const int room = row.threads + row.queue;
      for (int i = 0; i < room; ++i) {
        EXPECT_TRUE(pool.Submit([&] {
          release.wait();
          ++ran;
        })) << row.threads
            << " " << row.queue << " " << i;
      }
      EXPECT_FALSE(pool.Submit([&ran] { ran += 1000; }))
          << row.threads << " " << row.queue;
      release.count_down();
    }
    EXPECT_EQ(ran.load(), row.threads + row.queue);
  }
}

TEST(HeavyPool, HasRoomAgainOnceAJobHasEnded) {
  HeavyPool pool(1, 0);
  for (int i = 0; i < 100; ++i) {
    std::latch done(1);
    while (!pool.Submit([&done] { done.count_down(); })) {
      std::this_thread::yield();
    }
    done.wait();
  }
}

TEST(HeavyPool, JobsHaveALowerPriorityThanOthers) {
  const int own = getpriority(PRIO_PROCESS, 0);
  int in_pool = 0;
  {
    HeavyPool pool(1, 0);
    std::latch done(1);
    ASSERT_TRUE(pool.Submit([&] {
      in_pool = getpriority(PRIO_PROCESS, 0);
      done.count_down();
    }));
    done.wait();
  }
  EXPECT_GT(in_pool, own);  // A larger nice value.
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

TEST(HeavyPool, ThreadsRunAtTheSameTime) {
  HeavyPool pool(3, 0);
  std::latch all(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pool.Submit([&] {
      all.arrive_and_wait();
      done.count_down();
    }));
  }
  done.wait();
}

}  // namespace
}  // namespace mansard::server
