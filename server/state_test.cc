// The state directory of mansardd: what an end of any kind leaves behind.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite_store.h"
#include "tests/support/catalog_calls.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace mansard::testing {
namespace {

using ::testing::HasSubstr;
using Stub = v1::CatalogService::Stub;

class StateDirectoryTest : public ::testing::Test {
 protected:
  std::string flag() const {
    return absl::StrCat("--state_dir=", folder_ / "state");
  }
  static std::unique_ptr<Stub> StubOf(const ServerProcess& server) {
    return v1::CatalogService::NewStub(grpc::CreateChannel(
        server.address, grpc::InsecureChannelCredentials()));
  }

  TemporaryFolder folder_;
};

TEST_F(StateDirectoryTest, KilledInTheMiddleItLosesNothingThatItAnswered) {
  std::map<std::string, std::string> answered;  // Etags by id.
  {
    const ServerProcess server({flag()});
    ASSERT_FALSE(server.address.empty()) << server.process.output();
    const auto stub = StubOf(server);
    v1::GetModelGraphRequest get;
    get.set_name("modelGraphs/qwen3-0.6b");
    v1::CreateModelGraphRequest create;
    *create.mutable_model_graph() =
        CallOf(*stub, &Stub::GetModelGraph, get).response;
    std::atomic<int> written = 0;
    std::thread killer([&] {
      while (written < 300) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      server.process.Signal(SIGKILL);
    });
    for (int i = 0; i < 1000; ++i) {
      create.set_model_graph_id(absl::StrCat("g", i));
      create.mutable_model_graph()->set_vocabulary_size(1000 + i);
      const auto created = CallOf(*stub, &Stub::CreateModelGraph, create);
      if (!created.ok()) break;
      answered[create.model_graph_id()] = created.response.etag();
      ++written;
    }
    written = 1000;
    killer.join();
  }
  EXPECT_GE(answered.size(), 300u);
  EXPECT_LT(answered.size(), 1000u);
  {
    auto store = server::SqliteStore::Open(folder_ / "state");
    ASSERT_TRUE(store.ok()) << store.status();
    auto database =
        server::SqliteDatabase::Open(server::DatabasePath(folder_ / "state"),
                                     server::SqliteDatabase::Mode::kReadOnly);
    ASSERT_TRUE(database.ok());
    EXPECT_EQ(*(*database)->Text("PRAGMA integrity_check"), "ok");
  }
  const ServerProcess again({flag()});
  ASSERT_FALSE(again.address.empty()) << again.process.output();
  const auto stub = StubOf(again);
  for (const auto& [id, etag] : answered) {
    v1::GetModelGraphRequest get;
    get.set_name(absl::StrCat("modelGraphs/", id));
    const auto got = CallOf(*stub, &Stub::GetModelGraph, get);
    ASSERT_TRUE(got.ok()) << id << " " << got.facts();
    EXPECT_EQ(got.response.etag(), etag);
  }
}

TEST_F(StateDirectoryTest, ASecondServerIsRefused) {
  const ServerProcess first({flag()});
  ASSERT_FALSE(first.address.empty()) << first.process.output();
  Process second(
      {ServerBinary(), "--listen=127.0.0.1:0", "--metrics_listen=", flag()});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.output(), HasSubstr("is in use by another process"));
}

TEST_F(StateDirectoryTest, ADamagedOneIsRefused) {
  std::filesystem::create_directories(folder_ / "state");
  std::ofstream(folder_ / "state/catalog.sqlite") << std::string(5000, 'x');
  Process server(
      {ServerBinary(), "--listen=127.0.0.1:0", "--metrics_listen=", flag()});
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_THAT(server.output(), HasSubstr("is damaged"));
}

TEST_F(StateDirectoryTest, SystemdNamesItToo) {
  Process server({ServerBinary(), "--listen=127.0.0.1:0", "--metrics_listen="},
                 {{"STATE_DIRECTORY", folder_ / "by-systemd"}});
  ASSERT_TRUE(server.ReadUntil("\"serving\"").has_value());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "by-systemd/catalog.sqlite"));
}

TEST_F(StateDirectoryTest, WithoutOneItSaysSo) {
  Process server({ServerBinary(), "--listen=127.0.0.1:0", "--metrics_listen="});
  EXPECT_TRUE(server.ReadUntil("catalog_in_memory").has_value());
}

}  // namespace
}  // namespace mansard::testing
