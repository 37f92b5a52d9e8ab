#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/handlers/target_resolver.h"

namespace mansard::server {
namespace {

class TargetsTest : public ::testing::Test {
 protected:
  static const std::shared_ptr<const Snapshot>& Loaded() {
    static const auto* const kSnapshot =
        new absl::StatusOr<std::shared_ptr<const Snapshot>>(Snapshot::Load(""));
    return **kSnapshot;
  }
  static const Snapshot& Shipped() { return *Loaded(); }

  static v1::Target Named(int tensor) {
    v1::Target target;
    target.set_model_graph("modelGraphs/llama-3.1-8b");
    target.set_hardware_profile("hardwareProfiles/h100-sxm");
    target.mutable_parallelism()->set_tensor_size(tensor);
    return target;
  }

  // By a call of its own.
  TargetAnswer Resolve(const v1::Target& target) {
    TargetResolver resolver(state_);
    return resolver.Resolve(target, violations_);
  }

  CatalogState state_{.snapshot = Loaded()};
  model::Violations violations_;
};

TEST_F(TargetsTest, CallsShareWhatTheCatalogNames) {
  const TargetAnswer first = Resolve(Named(1));
  const TargetAnswer again = Resolve(Named(1));
  const TargetAnswer other = Resolve(Named(2));
  ASSERT_NE(first.resolved, nullptr);
  ASSERT_NE(other.resolved, nullptr);
  EXPECT_EQ(first.resolved.get(), again.resolved.get());
  EXPECT_NE(first.resolved.get(), other.resolved.get());
  EXPECT_EQ(other.resolved->target.layout().tensor(), 2);
  EXPECT_EQ(again.graph.max_context, first.graph.max_context);
}

// The default stack is nobody's; the answer says which ones were measured.
TEST_F(TargetsTest, SaysWhichStacksWereMeasured) {
  const auto measured = [this](const std::string& hardware,
                               const std::string& stack) {
    v1::Target target = Named(1);
    target.set_hardware_profile(hardware);
    target.set_kernel_stack(stack);
    const TargetAnswer answer = Resolve(target);
    for (const std::string& text : answer.resolved->resolution.assumptions()) {
      if (absl::StrContains(text, "measured on this device")) return text;
    }
    return std::string();
  };
  EXPECT_THAT(measured("hardwareProfiles/h100-sxm", ""),
              ::testing::AllOf(::testing::HasSubstr("\"generic\" is of tier"),
                               ::testing::HasSubstr("vllm-0.24")));
  EXPECT_EQ(measured("hardwareProfiles/h100-sxm", "vllm-0.24"), "");
  EXPECT_EQ(measured("hardwareProfiles/tpu-v5p", ""), "");
}

TEST_F(TargetsTest, KeptIsWhatIsResolvedAnew) {
  Resolve(Named(2));
  const TargetAnswer kept = Resolve(Named(2));
  const TargetAnswer anew = ResolveTarget(Shipped(), Named(2), violations_);
  ASSERT_NE(kept.resolved, nullptr);
  ASSERT_NE(anew.resolved, nullptr);
  EXPECT_NE(kept.resolved.get(), anew.resolved.get());
  EXPECT_EQ(kept.resolved->resolution.SerializeAsString(),
            anew.resolved->resolution.SerializeAsString());
  EXPECT_EQ(kept.resolved->hasher.Text(), anew.resolved->hasher.Text());
}

TEST_F(TargetsTest, InlineTargetsAreSharedWithinACallOnly) {
  v1::Target target = Named(1);
  *target.mutable_inline_model_graph() =
      Shipped().graphs().at("llama-3.1-8b")->proto;
  target.mutable_inline_model_graph()->clear_name();
  target.mutable_inline_model_graph()->clear_size();
  target.mutable_inline_model_graph()->clear_revision_id();
  TargetResolver call(state_);
  const auto first = call.Resolve(target, violations_).resolved;
  const auto second = call.Resolve(target, violations_).resolved;
  ASSERT_TRUE(violations_.empty()) << violations_.ToStatus();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_NE(Resolve(target).resolved, first);
}

TEST_F(TargetsTest, MistakesAreFoundEachTime) {
  v1::Target wrong = Named(3);  // Does not divide 8 KV heads.
  v1::Target unknown = Named(1);
  unknown.set_model_graph("modelGraphs/nothing");
  TargetResolver call(state_);
  for (size_t time = 1; time <= 2; ++time) {
    EXPECT_EQ(call.Resolve(wrong, violations_).resolved, nullptr);
    EXPECT_EQ(violations_.all().size(), time);
    const TargetAnswer answer = call.Resolve(unknown, violations_);
    EXPECT_EQ(answer.resolved, nullptr);
    EXPECT_EQ(answer.error.code(), absl::StatusCode::kNotFound);
    // What is right comes between.
    EXPECT_NE(call.Resolve(Named(1), violations_).resolved, nullptr);
  }
  EXPECT_EQ(state_.targets.Find(wrong.SerializeAsString()), nullptr);
  EXPECT_EQ(state_.targets.Find(unknown.SerializeAsString()), nullptr);
}

TEST_F(TargetsTest, ABrokenFormatIsFoundEachTime) {
  v1::Target target = Named(1);
  target.mutable_precision()->set_weights("fp13");
  for (size_t time = 1; time <= 2; ++time) {
    Resolve(target);
    EXPECT_EQ(violations_.all().size(), time);
  }
}

TEST_F(TargetsTest, TheCacheIsBounded) {
  const auto resolved = Resolve(Named(1)).resolved;
  ASSERT_NE(resolved, nullptr);
  TargetCache cache;
  int kept = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string key = absl::StrCat("key ", i);
    cache.Keep(key, std::make_shared<const ResolvedTarget>(*resolved));
    if (cache.Find(key) != nullptr) ++kept;
  }
  EXPECT_GT(kept, 500);
  EXPECT_LE(kept, 1024);
  // The first found all places free, and nothing pushed it out.
  EXPECT_NE(cache.Find("key 0"), nullptr);
  EXPECT_EQ(cache.Find("key"), nullptr);
}

TEST(ContentHasherTest, PartsAreTheWhole) {
  model::ContentHasher hasher;
  EXPECT_EQ(hasher.Text(), model::ContentHash(""));
  hasher.Add("graph");
  hasher.Add("");
  hasher.Add("\npass");
  EXPECT_EQ(hasher.Text(), model::ContentHash("graph\npass"));
  // FNV-1a of "a" is af63dc4c8601ec8c; folded to 48 bits.
  model::ContentHasher letter;
  letter.Add("a");
  EXPECT_EQ(letter.Text(), "dc4c860143ef");
}

}  // namespace
}  // namespace mansard::server
