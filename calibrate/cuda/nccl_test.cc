#include "calibrate/cuda/nccl.h"

#include <array>
#include <cstring>
#include <functional>
#include <map>

#include "calibrate/cuda/fake_gpu.h"
#include "calibrate/cuda/works.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace mansard::calibrate {
namespace {

// A library in the host's memory. What a group holds runs at its end, when all
// ranks have said what they give and take.
struct Fake {
  struct Give {
    const uint16_t* from;
    uint16_t* to;
    size_t count;
    int peer;
    int rank;
  };
  int open = 0;
  int live = 0;  // Communicators.
  int ranks = 0;
  int failure = 0;
  int groups = 0;
  std::string kind;
  std::vector<Give> gives;
  std::vector<Give> takes;
};
Fake& State() {
  static Fake& state = *new Fake;
  return state;
}

// A communicator is the place of its rank.
std::array<char, 64> places;
int RankOf(void* communicator) {
  return static_cast<int>(static_cast<char*>(communicator) - places.data());
}

int Version(int* version) {
  *version = 22809;
  return 0;
}
const char* ErrorText(int) { return "unhandled system error"; }
int StartAll(void** communicators, int ranks, const int* devices) {
  State().ranks = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    if (devices[rank] != rank) return 4;
    communicators[rank] = &places.at(static_cast<size_t>(rank));
    ++State().live;
  }
  return 0;
}
int Destroy(void*) {
  --State().live;
  return 0;
}
int GroupStart() {
  ++State().open;
  return 0;
}
int Note(const char* kind, const void* from, void* to, size_t count, int type,
         void* communicator) {
  if (State().failure != 0) return State().failure;
  if (State().open != 1 || type != 9) return 4;
  State().kind = kind;
  State().gives.push_back({static_cast<const uint16_t*>(from),
                           static_cast<uint16_t*>(to), count, 0,
                           RankOf(communicator)});
  return 0;
}
int AllReduce(const void* from, void* to, size_t count, int type, int op,
              void* communicator, void*) {
  return op == 0 ? Note("all_reduce", from, to, count, type, communicator) : 4;
}
int ReduceScatter(const void* from, void* to, size_t count, int type, int op,
                  void* communicator, void*) {
  return op == 0 ? Note("reduce_scatter", from, to, count, type, communicator)
                 : 4;
}
int AllGather(const void* from, void* to, size_t count, int type,
              void* communicator, void*) {
  return Note("all_gather", from, to, count, type, communicator);
}
int Send(const void* from, size_t count, int, int peer, void* communicator,
         void*) {
  State().kind = "send";
  State().gives.push_back({static_cast<const uint16_t*>(from), nullptr, count,
                           peer, RankOf(communicator)});
  return 0;
}
int Receive(void* to, size_t count, int, int peer, void* communicator, void*) {
  State().takes.push_back(
      {nullptr, static_cast<uint16_t*>(to), count, peer, RankOf(communicator)});
  return 0;
}

void Reduce(const std::vector<Fake::Give>& gives, size_t first, size_t count,
            uint16_t* to) {
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (const Fake::Give& give : gives)
      sum += DecodeBf16(give.from[first + i]);
    to[i] = EncodeBf16(sum);
  }
}

int GroupEnd() {
  Fake& state = State();
  --state.open;
  ++state.groups;
  const auto gives = std::exchange(state.gives, {});
  const auto takes = std::exchange(state.takes, {});
  for (const Fake::Give& give : gives) {
    const auto rank = static_cast<size_t>(give.rank);
    if (state.kind == "all_reduce") Reduce(gives, 0, give.count, give.to);
    if (state.kind == "reduce_scatter") {
      Reduce(gives, rank * give.count, give.count, give.to);
    }
    if (state.kind == "all_gather") {
      for (const Fake::Give& other : gives) {
        std::memcpy(give.to + static_cast<size_t>(other.rank) * other.count,
                    other.from, 2 * other.count);
      }
    }
  }
  for (const Fake::Give& take : takes) {
    for (const Fake::Give& give : gives) {
      if (give.peer == take.rank && give.rank == take.peer) {
        std::memcpy(take.to, give.from, 2 * give.count);
      }
    }
  }
  return 0;
}

SharedLibrary Library() {
  static const auto& symbols = *new std::map<std::string, void*>{
      {"ncclGetVersion", reinterpret_cast<void*>(&Version)},
      {"ncclGetErrorString", reinterpret_cast<void*>(&ErrorText)},
      {"ncclCommInitAll", reinterpret_cast<void*>(&StartAll)},
      {"ncclCommDestroy", reinterpret_cast<void*>(&Destroy)},
      {"ncclGroupStart", reinterpret_cast<void*>(&GroupStart)},
      {"ncclGroupEnd", reinterpret_cast<void*>(&GroupEnd)},
      {"ncclAllReduce", reinterpret_cast<void*>(&AllReduce)},
      {"ncclReduceScatter", reinterpret_cast<void*>(&ReduceScatter)},
      {"ncclAllGather", reinterpret_cast<void*>(&AllGather)},
      {"ncclSend", reinterpret_cast<void*>(&Send)},
      {"ncclRecv", reinterpret_cast<void*>(&Receive)},
  };
  return {"libfake.so", [](const char* name) {
            const auto found = symbols.find(name);
            return found == symbols.end() ? nullptr : found->second;
          }};
}

constexpr CaseKind kKinds[] = {CaseKind::kAllReduce, CaseKind::kAllGather,
                               CaseKind::kReduceScatter, CaseKind::kAllToAll,
                               CaseKind::kSendReceive};

class NcclTest : public ::testing::Test {
 protected:
  void SetUp() override { State() = {}; }

  Case Message(CaseKind kind) const {
    return {.kind = kind,
            .bytes = 1200,
            .ranks = 3,
            .format = model::Format::kBf16};
  }
};

TEST_F(NcclTest, EveryCollectiveBringsEveryElement) {
  const auto nccl = Nccl::Open(Library());
  ASSERT_TRUE(nccl.ok()) << nccl.status();
  EXPECT_EQ(nccl->description(), "NCCL 2.28.9");
  for (const CaseKind kind : kKinds) {
    FakeGpu first, second, third;
    const auto group = nccl->Group(3);
    ASSERT_TRUE(group.ok()) << group.status();
    const auto made = MakeCollectiveCase({&first, &second, &third}, **group,
                                         Message(kind), {});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE((*made)->Verify().ok())
        << CaseKindName(kind) << (*made)->Verify();
    State().groups = 0;
    ASSERT_TRUE((*made)->Run().ok());
    EXPECT_EQ(State().groups, 32);  // All that may stand behind a hold.
    EXPECT_EQ(first.holds + second.holds + third.holds, 0);
  }
  EXPECT_EQ(State().live, 0);
}

TEST_F(NcclTest, WhatDoesNotComeIsFound) {
  const auto nccl = Nccl::Open(Library());
  ASSERT_TRUE(nccl.ok());
  FakeGpu first, second, third;
  const auto group = nccl->Group(3);
  ASSERT_TRUE(group.ok());
  const auto made = MakeCollectiveCase({&first, &second, &third}, **group,
                                       Message(CaseKind::kAllReduce), {});
  ASSERT_TRUE(made.ok());
  State().failure = 2;
  const absl::Status status = (*made)->Verify();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "ncclAllReduce: unhandled system error");
  EXPECT_EQ(State().open, 0);
  EXPECT_FALSE((*group)->Enqueue(CaseKind::kGemm, 12, {{}}).ok());
}

TEST_F(NcclTest, MissingFunctionIsNamed) {
  const auto nccl =
      Nccl::Open({"libold.so", [](const char*) -> void* { return nullptr; }});
  EXPECT_EQ(nccl.status().message(),
            "libold.so has no function ncclGetVersion");
}

#if __has_include(<nccl.h>)
TEST(NcclHeader, NumbersAreTheLibrarys) {
  EXPECT_EQ(static_cast<int>(ncclBfloat16), 9);
  EXPECT_EQ(static_cast<int>(ncclSum), 0);
  EXPECT_EQ(static_cast<int>(ncclSuccess), 0);
}
#endif

}  // namespace
}  // namespace mansard::calibrate
