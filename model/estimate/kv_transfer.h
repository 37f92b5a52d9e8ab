// Recompute a prefix, or fetch what is cached of it from somewhere else?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"

namespace mansard::model {

enum class KvSource {
  kHbm,     // The devices' own memory: there is nothing to move.
  kHost,    // Memory of the host, over PCIe.
  kNvlink,  // Devices of the same node.
  kRdma,    // Devices of another node.
  kStorage,
};
// "hbm", "host", "nvlink", "rdma", "storage".
absl::string_view KvSourceName(KvSource source);
std::optional<KvSource> ParseKvSource(absl::string_view name);
std::string KvSourceNames();

// One request's prefix.
struct KvTransferSpec {
  int64_t prefix_tokens = 0;
  int64_t cached_tokens = 0;  // Of them, at the destination already.
  std::vector<KvSource> sources;
  // As KvSend::nics; for kRdma.
  std::optional<int> nics = std::nullopt;
  // For kStorage, which has no defaults: for all ranks together, and once.
  std::optional<BytesPerSecond> storage_bandwidth = std::nullopt;
  std::optional<Seconds> storage_latency = std::nullopt;
};

// Rules: 1 prefix token at least, at most `max_context` and
// ForwardPass::kMaxNewTokens of them not cached; cached ones are fewer; sources
// are named once each, one at least; nics and what storage needs are given for
// those alone, and storage's always.
// Violations are at the names of the wire: "prefix_token_count",
// "cached_token_count", "source_tiers", "nic_count",
// "storage_bandwidth_bytes_per_second", "storage_latency_seconds".
void CheckKvTransfer(const KvTransferSpec& spec, int64_t max_context,
                     Violations& violations);
// Of a target's fabric; at "source_tiers[i]" and "nic_count".
void CheckKvSources(const Target& target, const KvTransferSpec& spec,
                    Violations& violations);

// Which is faster from a length on.
struct KvPreference {
  int64_t from_tokens = 0;
  bool fetch = false;
};

// Times until the destination has the prefix's keys and values.
struct KvFetch {
  KvSource source = KvSource::kHbm;
  Bytes rank;      // That the busiest rank fetches.
  Bytes instance;  // That all ranks of the request fetch.
  Seconds floor;   // At the link's or storage's rate.
  Seconds estimate;
  // What of it is left where the source computes the prefix at the same time,
  // and sends layer by layer or all at its end, whichever leaves less.
  // Sources that only keep it hide nothing.
  Seconds exposed;
  // By prefix length, from cached_tokens + 1 to the longest legal one. Ties go
  // to fetching.
  std::vector<KvPreference> preferences;
  Tier tier = Tier::kSpec;  // kSpec for storage: the caller's numbers.
};

struct KvTransferPlan {
  Bytes rank;      // What the destination lacks.
  Bytes instance;  // Copies on several ranks included.
  Seconds recompute;
  std::vector<KvFetch> fetches;  // As the sources were named.
};

// Both curves are looked at where the tokens to compute or fetch are powers of
// the root of two; between two such lengths with different answers the change
// is found to the token. `keep_going` is asked now and then; where it says no,
// there is no answer.
// Precondition: the checks found nothing, the stack has a collective family for
// the tier of each source.
std::optional<KvTransferPlan> PlanKvTransfer(
    const Target& target, const KvTransferSpec& spec,
    absl::FunctionRef<bool()> keep_going);

// How devices that keep the prefix send it. Precondition: the source has a
// tier.
KvSend KvSendFrom(KvSource source, const KvTransferSpec& spec, bool layer_wise);
// The tier that a source's bytes cross; empty for kHbm and kStorage.
std::optional<LinkTier> TierOf(KvSource source);

}  // namespace mansard::model
