#include "server/catalog/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/catalog/snapshot.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_graph.h"

namespace mansard::server {
namespace {

using ::mansard::testing::kTinyGraph;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr char kTinyFabric[] = R"(
fabric: "tiny-fabric"
links {
  tier: "pcie"
  bandwidth_bytes_per_second {
    value: 25e9
    provenance { kind: KIND_ASSUMED source: "test" }
  }
  domain_device_count: 2
}
)";

class MergeFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  absl::StatusOr<std::shared_ptr<const Snapshot>> Load() {
    return Snapshot::Load(root_.string());
  }

  const mansard::testing::TemporaryFolder folder_;
  const fs::path root_{folder_.path()};
};

TEST_F(MergeFolderTest, AddsFilesToTheShippedOnes) {
  Write("models/tiny.textproto", kTinyGraph);
  Write("fabrics/tiny-fabric.textproto", kTinyFabric);
  Write("models/notes.txt", "not read");
  const auto shipped = Snapshot::Load("");
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const auto snapshot = Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->graphs().size(), (*shipped)->graphs().size() + 1);
  EXPECT_EQ((*snapshot)->fabrics().size(), (*shipped)->fabrics().size() + 1);
  const auto entry = (*snapshot)->FindGraph("tiny");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ((*entry)->proto.name(), "modelGraphs/tiny");
  EXPECT_FALSE((*entry)->proto.revision_id().empty());
  EXPECT_EQ((*entry)->graph->layer_count(), 2);
}

TEST_F(MergeFolderTest, AnEmptyFolderIsFine) { EXPECT_TRUE(Load().ok()); }

TEST_F(MergeFolderTest, NamesEveryBrokenFileWithEveryRule) {
  std::string graph = kTinyGraph;
  graph.replace(graph.find("hidden_size: 64"), 15, "hidden_size: -1");
  graph.replace(graph.find("vocabulary_size: 1000"), 21, "vocabulary_size: 0");
  Write("models/broken.textproto", graph);
  Write("models/no-proto.textproto", "hidden_size: \"many\"");
  Write("models/Upper.textproto", kTinyGraph);
  Write("fabrics/other-name.textproto", kTinyFabric);
  Write("models/fine.textproto", kTinyGraph);
  const auto snapshot = Load();
  ASSERT_EQ(snapshot.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(snapshot.status().message()),
      AllOf(HasSubstr("models/broken.textproto"), HasSubstr("hidden_size"),
            HasSubstr("vocabulary_size"),
            HasSubstr("models/no-proto.textproto:1:"),
            HasSubstr("models/Upper.textproto: the file's name is no id"),
            HasSubstr("fabrics/other-name.textproto: fabric"),
            Not(HasSubstr("models/fine.textproto"))));
}

TEST_F(MergeFolderTest, RefusesToShadowAShippedId) {
  Write("models/llama-3.1-8b.textproto", kTinyGraph);
  const auto snapshot = Load();
  ASSERT_EQ(snapshot.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(snapshot.status().message()),
              HasSubstr("\"llama-3.1-8b\" is there already"));
}

TEST_F(MergeFolderTest, RefusesAFolderThatIsNotThere) {
  const auto snapshot = Snapshot::Load((root_ / "absent").string());
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(snapshot.status().message()), HasSubstr("absent"));
}

}  // namespace
}  // namespace mansard::server
