// Targets as requests name them, checked and looked up. What a catalog answers
// for a target never changes, so those of the catalog are resolved once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mansard/v1/estimate.pb.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"
#include "model/io/revision.h"
#include "server/catalog/snapshot.h"
#include "server/convert/workload.h"
#include "server/prediction_handles.h"

namespace mansard::server {

// Immutable; may be shared between threads.
struct ResolvedTarget {
  model::Target target;
  GraphFacts graph;
  // The target's part of an answer's provenance: all but the content hash and
  // what the pass adds.
  v1::Resolution resolution;
  // Has taken all of the target that the numbers depend on; graph and profile
  // by the revisions, which are hashes of their content.
  model::ContentHasher hasher;
  // Of the graph and the profile.
  PredictionHandles predictions = {};
};

// Where `resolved` is null a rule is broken, or `error` says what is not found
// or not supported first. `graph` is what is known even then.
struct TargetAnswer {
  std::shared_ptr<const ResolvedTarget> resolved;
  // A graph whose longest context is not known bounds nothing.
  GraphFacts graph = {.max_context = int64_t{1} << 62,
                      .experts = std::nullopt,
                      .draft_modules = std::nullopt,
                      .cross_attention = std::nullopt};
  absl::Status error;
};

// Checks and looks up without memory of earlier targets. Violations are
// relative to the target.
TargetAnswer ResolveTarget(const Snapshot& snapshot, const v1::Target& target,
                           model::Violations& violations,
                           const model::EngineMemoryChoice& memory = {});

// Targets of one snapshot, by their bytes. Bounded: what comes when their
// places are taken is not kept, and nothing that is kept goes. Thread-safe, and
// no reader ever waits.
class TargetCache {
 public:
  // What is longer is not kept: names and choices are much shorter.
  static constexpr size_t kMaxKeyBytes = 256;

  TargetCache() = default;
  ~TargetCache();
  TargetCache(const TargetCache&) = delete;
  TargetCache& operator=(const TargetCache&) = delete;

  // Null where it is not there. As long as the cache lives.
  const ResolvedTarget* Find(absl::string_view key) const;
  void Keep(absl::string_view key,
            std::shared_ptr<const ResolvedTarget> resolved);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const ResolvedTarget> resolved;
  };
  static constexpr size_t kSlots = 1024;
  // Slots where a key may be, from its first one on.
  static constexpr size_t kProbes = 8;

  // To be taken modulo the slots.
  static size_t FirstSlot(absl::string_view key);

  // An entry, once set, stays.
  std::array<std::atomic<const Entry*>, kSlots> slots_{};
};

}  // namespace mansard::server
