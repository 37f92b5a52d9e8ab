#include "server/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/error.h"
#include "tests/support/temporary_folder.h"

namespace mansard::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

StoredResource Resource(const std::string& id, int number,
                        StoredKind kind = StoredKind::kModelGraph) {
  const absl::Time time = absl::FromUnixSeconds(1'700'000'000 + number);
  return {.kind = kind,
          .id = id,
          .revision_id = absl::StrCat("r", number),
          .etag = absl::StrCat("\"", number, "\""),
          .create_time = time,
          .update_time = time,
          .content = absl::StrCat("content ", number, std::string("\0x", 2))};
}

std::string ReasonOf(const absl::Status& status) {
  return ErrorInfoOf(status).reason();
}

std::unique_ptr<SqliteStore> Opened(const std::string& folder) {
  auto store = SqliteStore::Open(folder);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::vector<std::string> Ids(Store& store, StoredKind kind,
                             const std::string& prefix = "",
                             const std::string& after = "") {
  std::vector<std::string> ids;
  const auto all = store.List(kind, prefix, after, 100);
  EXPECT_TRUE(all.ok()) << all.status();
  if (!all.ok()) return ids;
  for (const StoredResource& one : *all) ids.push_back(one.id);
  return ids;
}

int ModeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 0777)
                                        : -1;
}

// Each test on disk and, where it can be, in memory.
class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      store_ = Opened(folder_ / "state");
    } else {
      auto made = SqliteStore::InMemory();
      ASSERT_TRUE(made.ok()) << made.status();
      store_ = *std::move(made);
    }
    ASSERT_NE(store_, nullptr);
  }

  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_;
};
INSTANTIATE_TEST_SUITE_P(Places, StoreTest, ::testing::Bool());

TEST_P(StoreTest, GivesBackWhatWasPut) {
  StoredResource put = Resource("a", 1);
  put.request_id = "id";
  put.request_hash = "hash";
  ASSERT_TRUE(store_->Put(put, "", 10).ok());
  const auto found = store_->Find(StoredKind::kModelGraph, "a");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->content, put.content);
  EXPECT_EQ((*found)->revision_id, "r1");
  EXPECT_EQ((*found)->etag, "\"1\"");
  EXPECT_EQ((*found)->create_time, put.create_time);
  const auto by_request = store_->FindByRequest("id");
  ASSERT_TRUE(by_request.ok() && by_request->has_value());
  EXPECT_EQ((*by_request)->request_hash, "hash");
  EXPECT_FALSE(store_->FindByRequest("other")->has_value());
  EXPECT_FALSE(store_->Find(StoredKind::kEngine, "a")->has_value());
}

TEST_P(StoreTest, WritesExpectWhatIsThere) {
  ASSERT_TRUE(store_->Put(Resource("a", 1), "", 10).ok());
  EXPECT_EQ(ReasonOf(store_->Put(Resource("a", 2), "", 10)), "STORE_CHANGED");
  EXPECT_EQ(ReasonOf(store_->Put(Resource("a", 2), "\"9\"", 10)),
            "STORE_CHANGED");
  EXPECT_EQ(ReasonOf(store_->Put(Resource("b", 2), "\"1\"", 10)),
            "STORE_CHANGED");
  EXPECT_EQ(ReasonOf(store_->Delete(StoredKind::kModelGraph, "a", "\"9\"")),
            "STORE_CHANGED");
  EXPECT_EQ((*store_->Find(StoredKind::kModelGraph, "a"))->revision_id, "r1");
  EXPECT_TRUE(store_->Put(Resource("a", 2), "\"1\"", 10).ok());
}

TEST_P(StoreTest, KeepsTheNewestRevisions) {
  for (int i = 1; i <= 5; ++i) {
    const std::string before = i == 1 ? "" : absl::StrCat("\"", i - 1, "\"");
    ASSERT_TRUE(store_->Put(Resource("a", i), before, 3).ok());
  }
  const auto all = store_->Revisions(StoredKind::kModelGraph, "a", 1000, 10);
  ASSERT_TRUE(all.ok());
  std::vector<std::string> ids;
  for (const StoredRevision& one : *all) ids.push_back(one.revision_id);
  EXPECT_THAT(ids, ElementsAre("r5", "r4", "r3"));
  const auto page =
      store_->Revisions(StoredKind::kModelGraph, "a", all->front().number, 1);
  ASSERT_TRUE(page.ok() && page->size() == 1);
  EXPECT_EQ(page->front().revision_id, "r4");
  EXPECT_EQ(
      (*store_->FindRevision(StoredKind::kModelGraph, "a", "r3"))->content,
      Resource("a", 3).content);
  EXPECT_FALSE(
      store_->FindRevision(StoredKind::kModelGraph, "a", "r2")->has_value());
  // The first creation stays.
  EXPECT_EQ((*store_->Find(StoredKind::kModelGraph, "a"))->create_time,
            Resource("a", 1).create_time);
}

TEST_P(StoreTest, ListsByPrefixInOrder) {
  for (const char* id : {"b/2", "a/1", "b/1", "b", "b-x/1", "c/1"}) {
    ASSERT_TRUE(
        store_->Put(Resource(id, 1, StoredKind::kCalibration), "", 1).ok());
  }
  EXPECT_THAT(Ids(*store_, StoredKind::kCalibration, "b/"),
              ElementsAre("b/1", "b/2"));
  EXPECT_THAT(Ids(*store_, StoredKind::kCalibration, "b/", "b/1"),
              ElementsAre("b/2"));
  EXPECT_THAT(Ids(*store_, StoredKind::kCalibration),
              ElementsAre("a/1", "b", "b-x/1", "b/1", "b/2", "c/1"));
  EXPECT_EQ(*store_->Count(StoredKind::kCalibration, "b/"), 2);
}

TEST_P(StoreTest, DeletesWithRevisionsAndCalibrations) {
  ASSERT_TRUE(
      store_->Put(Resource("p", 1, StoredKind::kHardwareProfile), "", 9).ok());
  for (const char* id : {"p/1", "p/2", "q/1"}) {
    ASSERT_TRUE(
        store_->Put(Resource(id, 1, StoredKind::kCalibration), "", 1).ok());
  }
  ASSERT_TRUE(store_->Delete(StoredKind::kHardwareProfile, "p", "\"1\"").ok());
  EXPECT_TRUE(Ids(*store_, StoredKind::kHardwareProfile).empty());
  EXPECT_TRUE(
      store_->Revisions(StoredKind::kHardwareProfile, "p", 1000, 9)->empty());
  EXPECT_THAT(Ids(*store_, StoredKind::kCalibration), ElementsAre("q/1"));
}

TEST_P(StoreTest, ServesWritersAndReadersAtOnce) {
  constexpr int kWrites = 50;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([this, writer] {
      for (int i = 0; i < kWrites; ++i) {
        const std::string id = absl::StrCat("w", writer, "-", i);
        ASSERT_TRUE(store_->Put(Resource(id, i), "", 1).ok());
      }
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([this] {
      for (int i = 0; i < kWrites; ++i) {
        ASSERT_TRUE(store_->List(StoredKind::kModelGraph, "", "", 20).ok());
        ASSERT_TRUE(store_->Count(StoredKind::kModelGraph, "w0").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*store_->Count(StoredKind::kModelGraph, ""), 2 * kWrites);
}

class StateTest : public ::testing::Test {
 protected:
  const std::string& state() const { return state_; }
  std::string database() const { return DatabasePath(state_); }

  TemporaryFolder folder_;
  std::string state_ = folder_ / "deep/state";
};

TEST_F(StateTest, OutlivesTheProcessAndIsPrivate) {
  ASSERT_TRUE(Opened(state())->Put(Resource("a", 1), "", 1).ok());
  EXPECT_THAT(Ids(*Opened(state()), StoredKind::kModelGraph), ElementsAre("a"));
  EXPECT_EQ(ModeOf(state()), 0700);
  const auto store = Opened(state());
  ASSERT_TRUE(store->Put(Resource("b", 1), "", 1).ok());
  for (const auto& file : fs::directory_iterator(state())) {
    EXPECT_EQ(ModeOf(file.path().string()), 0600) << file.path();
  }
}

TEST_F(StateTest, IsOfOneProcessAtATime) {
  const auto first = Opened(state());
  const auto second = SqliteStore::Open(state());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("is in use by another process"));
}

TEST_F(StateTest, IsReadBesideItsWriter) {
  const auto writer = Opened(state());
  ASSERT_TRUE(writer->Put(Resource("a", 1), "", 1).ok());
  auto reader = SqliteStore::OpenReadOnly(state());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(Ids(**reader, StoredKind::kModelGraph), ElementsAre("a"));
  ASSERT_TRUE(writer->Put(Resource("b", 1), "", 1).ok());
  EXPECT_THAT(Ids(**reader, StoredKind::kModelGraph), ElementsAre("a", "b"));
  EXPECT_EQ(ReasonOf((*reader)->Put(Resource("c", 1), "", 1)),
            "STORE_READ_ONLY");
}

TEST_F(StateTest, BroughtToTheNewestSchema) {
  { ASSERT_TRUE(Opened(state())->Put(Resource("a", 1), "", 1).ok()); }
  std::vector<std::string> longer = Migrations();
  longer.push_back("ALTER TABLE resource ADD COLUMN note TEXT");
  {
    const auto newer = SqliteStore::Open(state(), longer);
    ASSERT_TRUE(newer.ok()) << newer.status();
    EXPECT_THAT(Ids(**newer, StoredKind::kModelGraph), ElementsAre("a"));
  }
  const auto older = SqliteStore::Open(state());
  EXPECT_EQ(older.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(older.status().message()),
              HasSubstr("of a newer version of this program"));
}

TEST_F(StateTest, AStepThatFailsIsTakenBack) {
  { ASSERT_NE(Opened(state()), nullptr); }
  std::vector<std::string> broken = Migrations();
  broken.push_back("CREATE TABLE half(a TEXT); SELECT * FROM absent");
  EXPECT_FALSE(SqliteStore::Open(state(), broken).ok());
  // The table is not there, and the version is the old one.
  broken.back() = "CREATE TABLE half(a TEXT)";
  EXPECT_TRUE(SqliteStore::Open(state(), broken).ok());
}

TEST_F(StateTest, AnotherProgramsDatabaseIsRefused) {
  fs::create_directories(state());
  { std::ofstream(database()).put(' '); }
  auto other =
      SqliteDatabase::Open(":memory:", SqliteDatabase::Mode::kReadWrite);
  ASSERT_TRUE(other.ok());
  fs::remove(database());
  ASSERT_TRUE((*other)
                  ->Run(absl::StrCat("CREATE TABLE theirs(a TEXT); VACUUM "
                                     "INTO '",
                                     database(), "'"))
                  .ok());
  const auto store = SqliteStore::Open(state());
  EXPECT_THAT(std::string(store.status().message()),
              HasSubstr("another program's database"));
}

TEST_F(StateTest, ADamagedDatabaseIsRefused) {
  {
    const auto store = Opened(state());
    for (int i = 0; i < 50; ++i) {
      StoredResource large = Resource(absl::StrCat("a", i), i);
      large.content = std::string(5000, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(store->Put(large, "", 1).ok());
    }
  }
  const std::string whole = folder_ / "whole.sqlite";
  fs::copy_file(database(), whole);
  const auto restored = [&] {
    fs::copy_file(whole, database(), fs::copy_options::overwrite_existing);
    return fs::file_size(database());
  };
  const auto refused = [&] {
    const auto store = SqliteStore::Open(state());
    return store.ok() ? "" : std::string(store.status().message());
  };
  fs::resize_file(database(), 0);
  EXPECT_THAT(refused(), HasSubstr("is damaged: it is empty"));
  fs::resize_file(database(), restored() / 2);
  EXPECT_THAT(refused(), HasSubstr("is damaged"));
  fs::resize_file(database(), restored() - 100);
  EXPECT_THAT(refused(), HasSubstr("is damaged"));
  restored();
  {
    std::fstream file(database(), std::ios::in | std::ios::out);
    file.seekp(4096);
    file << std::string(4096, '#');
  }
  EXPECT_THAT(refused(), HasSubstr("is damaged"));
  restored();
  {
    std::ofstream file(database());
    file << "no database at all, but long enough to have a header of one; "
         << std::string(2000, '#');
  }
  EXPECT_THAT(refused(), HasSubstr("is damaged"));
  restored();
  EXPECT_EQ(refused(), "");
}

TEST_F(StateTest, AContentThatTheDiskChangedIsAnError) {
  const std::string content(3000, 'q');
  {
    StoredResource one = Resource("a", 1);
    one.content = content;
    ASSERT_TRUE(Opened(state())->Put(one, "", 1).ok());
  }
  std::string bytes;
  {
    std::ifstream file(database(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const size_t at = bytes.find(content.substr(0, 1000));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 500] = 'Q';
  std::ofstream(database(), std::ios::binary) << bytes;
  const auto store = Opened(state());
  ASSERT_NE(store, nullptr);
  const auto found = store->Find(StoredKind::kModelGraph, "a");
  EXPECT_EQ(ReasonOf(found.status()), "STORE_CORRUPT");
}

TEST_F(StateTest, AFolderThatCannotBeIsAnError) {
  const std::string file = folder_ / "file";
  { std::ofstream(file) << "x"; }
  const auto store = SqliteStore::Open(file + "/state");
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(store.status().message()),
              HasSubstr("cannot be made"));
}

TEST_F(StateTest, AWriteThatTheDiskRefusesChangesNothing) {
  const auto store = Opened(state());
  ASSERT_TRUE(store->Put(Resource("a", 1), "", 9).ok());
  const auto size = fs::file_size(database() + "-wal");
  // Files may not grow: as on a full disk.
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {size + 1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  StoredResource large = Resource("a", 2);
  large.content = std::string(100'000, 'x');
  const absl::Status refused = store->Put(large, "\"1\"", 9);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  EXPECT_THAT(ReasonOf(refused),
              ::testing::AnyOf("STORE_FAILED", "STORE_FULL"));
  EXPECT_EQ((*store->Find(StoredKind::kModelGraph, "a"))->revision_id, "r1");
  EXPECT_TRUE(store->Put(large, "\"1\"", 9).ok());
  EXPECT_EQ((*store->Find(StoredKind::kModelGraph, "a"))->revision_id, "r2");
}

}  // namespace
}  // namespace mansard::server
