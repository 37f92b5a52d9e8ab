#include "server/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/error.h"
#include "server/store/sqlite_store.h"
#include "tests/support/temporary_folder.h"

namespace mansard::server {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::string ReasonOf(const absl::Status& status) {
  return ErrorInfoOf(status).reason();
}

std::unique_ptr<Catalog> Opened(const CatalogOptions& options) {
  auto catalog = Catalog::Open(options);
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return catalog.ok() ? *std::move(catalog) : nullptr;
}

// A small model as another one, by another width.
absl::Status PutGraph(Catalog& catalog, const std::string& id, int vocabulary,
                      bool validate_only = false) {
  CatalogWriter writer(catalog);
  v1::ModelGraph said = writer.snapshot().graphs().at("qwen3-0.6b")->proto;
  said.set_vocabulary_size(vocabulary);
  const auto& graphs = writer.snapshot().graphs();
  const auto found = graphs.find(id);
  model::Violations violations;
  auto entry =
      MakeEntry(id, said, found == graphs.end() ? nullptr : found->second.get(),
                writer.now(), violations);
  EXPECT_TRUE(entry.ok()) << violations.ToStatus();
  return writer.Put(id, *entry, validate_only);
}

v1::Engine Said(const std::string& model, int tensor = 1) {
  v1::Engine said;
  said.mutable_target()->set_model_graph("modelGraphs/" + model);
  said.mutable_target()->set_hardware_profile("hardwareProfiles/h100-sxm");
  said.mutable_target()->mutable_parallelism()->set_tensor_size(tensor);
  return said;
}

absl::Status PutEngine(Catalog& catalog, const std::string& id,
                       const v1::Engine& said) {
  CatalogWriter writer(catalog);
  model::Violations violations;
  auto entry =
      MakeEntry(writer.snapshot(), id, said, nullptr, writer.now(), violations);
  if (!entry.ok()) return entry.status();
  return writer.Put(id, *entry, /*validate_only=*/false);
}

class CatalogTest : public ::testing::Test {
 protected:
  CatalogOptions options() const { return {.state_dir = folder_ / "state"}; }

  TemporaryFolder folder_;
};

TEST_F(CatalogTest, AWriteIsSeenAndKept) {
  {
    const auto catalog = Opened(options());
    const auto before = catalog->state();
    ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
    // Those that hold the state before see nothing of it.
    EXPECT_EQ(before->snapshot->graphs().count("own"), 0u);
    EXPECT_EQ(catalog->state()->snapshot->graphs().count("own"), 1u);
  }
  const auto again = Opened(options());
  const auto& entry = *again->state()->snapshot->graphs().at("own");
  EXPECT_EQ(entry.proto.vocabulary_size(), 1000);
  EXPECT_EQ(entry.proto.name(), "modelGraphs/own");
  EXPECT_TRUE(entry.proto.has_create_time());
  EXPECT_TRUE(again->problems().empty());
}

TEST_F(CatalogTest, SnapshotsShareAllElse) {
  const auto catalog = Opened({});
  const auto before = catalog->state();
  ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
  const auto after = catalog->state();
  for (const auto& [id, entry] : before->snapshot->graphs()) {
    EXPECT_EQ(entry, after->snapshot->graphs().at(id)) << id;
  }
  for (const auto& [id, entry] : before->snapshot->profiles()) {
    EXPECT_EQ(entry, after->snapshot->profiles().at(id)) << id;
  }
}

TEST_F(CatalogTest, CheckingAloneChangesNothing) {
  const auto catalog = Opened(options());
  const auto before = catalog->state();
  ASSERT_TRUE(PutGraph(*catalog, "own", 1000, /*validate_only=*/true).ok());
  EXPECT_EQ(catalog->state(), before);
  EXPECT_EQ(*catalog->store().Count(StoredKind::kModelGraph, ""), 0);
}

TEST_F(CatalogTest, WhatLiesBeneathComesBack) {
  const auto catalog = Opened(options());
  const std::string shipped = catalog->state()
                                  ->snapshot->graphs()
                                  .at("qwen3-0.6b")
                                  ->proto.revision_id();
  ASSERT_TRUE(PutGraph(*catalog, "qwen3-0.6b", 1000).ok());
  EXPECT_NE(catalog->state()
                ->snapshot->graphs()
                .at("qwen3-0.6b")
                ->proto.revision_id(),
            shipped);
  ASSERT_TRUE(CatalogWriter(*catalog).DeleteGraph("qwen3-0.6b").ok());
  EXPECT_EQ(catalog->state()
                ->snapshot->graphs()
                .at("qwen3-0.6b")
                ->proto.revision_id(),
            shipped);
}

TEST_F(CatalogTest, EnginesFollowWhatTheyName) {
  const auto catalog = Opened(options());
  ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
  ASSERT_EQ(PutEngine(*catalog, "a", Said("own")), absl::OkStatus());
  ASSERT_EQ(PutEngine(*catalog, "b", Said("qwen3-0.6b")), absl::OkStatus());
  const auto before = catalog->state();
  ASSERT_TRUE(PutGraph(*catalog, "own", 2000).ok());
  const auto after = catalog->state();
  EXPECT_EQ(after->engines.at("b"), before->engines.at("b"));
  const EngineEntry& a = *after->engines.at("a");
  ASSERT_FALSE(a.broken());
  EXPECT_EQ(a.resolved->target.graph().spec().vocabulary_size, 2000);
  EXPECT_THAT(
      a.proto.resolution().model_graph_revision(),
      HasSubstr(after->snapshot->graphs().at("own")->proto.revision_id()));
  // What was said is the same.
  EXPECT_EQ(a.proto.etag(), before->engines.at("a")->proto.etag());
}

TEST_F(CatalogTest, NothingBreaksAnEngine) {
  const auto catalog = Opened(options());
  ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
  // It has 16 heads.
  ASSERT_EQ(PutEngine(*catalog, "a", Said("own", 4)), absl::OkStatus());
  const auto before = catalog->state();
  absl::Status status = CatalogWriter(*catalog).DeleteGraph("own");
  EXPECT_EQ(ReasonOf(status), "RESOURCE_IN_USE") << status;
  {
    CatalogWriter writer(*catalog);
    // 25 heads, which 4 ranks cannot share.
    v1::ModelGraph said = writer.snapshot().graphs().at("gpt2-xl")->proto;
    model::Violations violations;
    auto entry = MakeEntry("own", said, nullptr, writer.now(), violations);
    ASSERT_TRUE(entry.ok());
    status = writer.Put("own", *entry, /*validate_only=*/false);
  }
  EXPECT_EQ(ReasonOf(status), "ENGINES_WOULD_BREAK") << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("engines/a"));
  EXPECT_EQ(catalog->state(), before);
  EXPECT_EQ((*catalog->store().Find(StoredKind::kModelGraph, "own"))->etag,
            before->snapshot->graphs().at("own")->proto.etag());
}

TEST_F(CatalogTest, LimitsAreKept) {
  CatalogOptions small = options();
  small.limits.graphs = 2;
  small.limits.engines = 1;
  const auto catalog = Opened(small);
  ASSERT_TRUE(PutGraph(*catalog, "a", 1000).ok());
  ASSERT_TRUE(PutGraph(*catalog, "b", 1000).ok());
  EXPECT_EQ(ReasonOf(PutGraph(*catalog, "c", 1000)), "CATALOG_FULL");
  EXPECT_TRUE(PutGraph(*catalog, "b", 2000).ok());
  ASSERT_EQ(PutEngine(*catalog, "a", Said("a")), absl::OkStatus());
  EXPECT_EQ(ReasonOf(PutEngine(*catalog, "b", Said("a"))), "CATALOG_FULL");
  small.state_dir = folder_ / "other";
  small.limits.resource_bytes = 100;
  EXPECT_EQ(ReasonOf(PutGraph(*Opened(small), "a", 1000)),
            "RESOURCE_TOO_LARGE");
}

TEST_F(CatalogTest, BrokenOnesDoNotStopTheStart) {
  {
    const auto catalog = Opened(options());
    ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
    ASSERT_EQ(PutEngine(*catalog, "a", Said("own")), absl::OkStatus());
    ASSERT_EQ(PutEngine(*catalog, "b", Said("qwen3-0.6b")), absl::OkStatus());
  }
  {
    // As another version might have left it.
    auto store = SqliteStore::Open(folder_ / "state");
    ASSERT_TRUE(store.ok());
    StoredResource own = **(*store)->Find(StoredKind::kModelGraph, "own");
    const std::string etag = own.etag;
    v1::ModelGraph graph;
    ASSERT_TRUE(graph.ParseFromString(own.content));
    graph.set_hidden_size(-1);
    own.content = graph.SerializeAsString();
    ASSERT_TRUE((*store)->Put(own, etag, 100).ok());
  }
  const auto catalog = Opened(options());
  ASSERT_NE(catalog, nullptr);
  ASSERT_EQ(catalog->problems().size(), 2u);
  EXPECT_EQ(catalog->problems()[0].name, "modelGraphs/own");
  EXPECT_EQ(catalog->problems()[1].name, "engines/a");
  const auto state = catalog->state();
  EXPECT_EQ(ReasonOf(state->snapshot->FindGraph("own").status()),
            "RESOURCE_BROKEN");
  EXPECT_EQ(ReasonOf(state->FindEngine("a").status()), "ENGINE_BROKEN");
  EXPECT_TRUE(state->FindEngine("b").ok());
  // What mends the graph mends the engine.
  ASSERT_TRUE(PutGraph(*catalog, "own", 1000).ok());
  EXPECT_TRUE(catalog->state()->FindEngine("a").ok());
}

TEST_F(CatalogTest, ReadOnlyIsBesideAWriter) {
  const auto writer = Opened(options());
  ASSERT_TRUE(PutGraph(*writer, "own", 1000).ok());
  CatalogOptions reading = options();
  reading.read_only = true;
  const auto reader = Opened(reading);
  EXPECT_EQ(reader->state()->snapshot->graphs().count("own"), 1u);
  EXPECT_EQ(ReasonOf(PutGraph(*reader, "other", 1000)), "STORE_READ_ONLY");
  reading.state_dir = folder_ / "absent";
  EXPECT_EQ(ReasonOf(PutGraph(*Opened(reading), "other", 1000)),
            "STORE_READ_ONLY");
}

TEST_F(CatalogTest, ServesWritersAndReadersAtOnce) {
  const auto catalog = Opened({});
  constexpr int kWrites = 20;
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      size_t most = 0;
      while (!done) {
        const auto state = catalog->state();
        const size_t graphs = state->snapshot->graphs().size();
        EXPECT_GE(graphs, most);
        most = graphs;
        EXPECT_TRUE(state->snapshot->FindGraph("qwen3-0.6b").ok());
      }
    });
  }
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&, i] {
      for (int k = 0; k < kWrites; ++k) {
        const std::string id = absl::StrCat("w", i, "-", k);
        EXPECT_TRUE(PutGraph(*catalog, id, 1000 + k).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(*catalog->store().Count(StoredKind::kModelGraph, ""), 2 * kWrites);
}

}  // namespace
}  // namespace mansard::server
