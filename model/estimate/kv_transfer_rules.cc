#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/base/magnitude.h"
#include "model/estimate/kv_transfer.h"

namespace mansard::model {
namespace {

constexpr std::pair<KvSource, const char*> kSources[] = {
    {KvSource::kHbm, "hbm"},         {KvSource::kHost, "host"},
    {KvSource::kNvlink, "nvlink"},   {KvSource::kRdma, "rdma"},
    {KvSource::kStorage, "storage"},
};

bool Names(const KvTransferSpec& spec, KvSource source) {
  return std::find(spec.sources.begin(), spec.sources.end(), source) !=
         spec.sources.end();
}

void CheckSources(const KvTransferSpec& spec, Violations& violations) {
  if (spec.sources.empty()) {
    violations.Add("source_tiers",
                   absl::StrCat("is required: ", KvSourceNames()));
  }
  for (size_t i = 0; i < spec.sources.size(); ++i) {
    if (std::count(spec.sources.begin(), spec.sources.end(), spec.sources[i]) >
            1 &&
        std::find(spec.sources.begin(), spec.sources.end(), spec.sources[i]) !=
            spec.sources.begin() + static_cast<std::ptrdiff_t>(i)) {
      violations.Add(Indexed("source_tiers", i),
                     absl::StrCat("is \"", KvSourceName(spec.sources[i]),
                                  "\", which is named before"));
    }
  }
  if (spec.nics.has_value() && !Names(spec, KvSource::kRdma)) {
    violations.Add("nic_count",
                   absl::StrCat("is ", *spec.nics, "; counts for rdma only"));
  }
}

// Given with storage, and only then. `value`: where it is given.
void CheckStorageNumber(const char* field, const double* value,
                        bool zero_allowed, bool storage,
                        Violations& violations) {
  if (value == nullptr) {
    if (storage) {
      violations.Add(field, "is required for storage: nothing is assumed");
    }
    return;
  }
  const size_t before = violations.all().size();
  if (zero_allowed) {
    CheckNotNegative(field, *value, violations);
  } else {
    CheckPositive(field, "", *value, violations);
  }
  if (!storage && violations.all().size() == before) {
    violations.Add(field,
                   absl::StrFormat("is %g; counts for storage only", *value));
  }
}

}  // namespace

absl::string_view KvSourceName(KvSource source) {
  return kSources[static_cast<size_t>(source)].second;
}

std::optional<KvSource> ParseKvSource(absl::string_view name) {
  for (const auto& [source, known] : kSources) {
    if (name == known) return source;
  }
  return std::nullopt;
}

std::string KvSourceNames() {
  return absl::StrJoin(kSources, ", ", [](std::string* text, const auto& row) {
    absl::StrAppend(text, row.second);
  });
}

std::optional<LinkTier> TierOf(KvSource source) {
  switch (source) {
    case KvSource::kHost:
      return LinkTier::kPcie;
    case KvSource::kNvlink:
      return LinkTier::kNvlink;
    case KvSource::kRdma:
      return LinkTier::kRdma;
    case KvSource::kHbm:
    case KvSource::kStorage:
      return std::nullopt;
  }
  return std::nullopt;
}

void CheckKvTransfer(const KvTransferSpec& spec, int64_t max_context,
                     Violations& violations) {
  const bool known = violations.CheckRange(
      "prefix_token_count", static_cast<double>(spec.prefix_tokens), 1,
      static_cast<double>(max_context));
  if (spec.cached_tokens < 0 ||
      (known && spec.cached_tokens >= spec.prefix_tokens)) {
    violations.Add(
        "cached_token_count",
        absl::StrCat("is ", spec.cached_tokens,
                     "; allowed: 0 or more, fewer than the prefix's ",
                     spec.prefix_tokens));
  } else if (known && spec.prefix_tokens - spec.cached_tokens >
                          ForwardPass::kMaxNewTokens) {
    violations.Add("prefix_token_count",
                   absl::StrCat("is ", spec.prefix_tokens,
                                "; allowed: ", ForwardPass::kMaxNewTokens,
                                " tokens that are not cached"));
  }
  CheckSources(spec, violations);
  const bool storage = Names(spec, KvSource::kStorage);
  const double bandwidth =
      spec.storage_bandwidth.value_or(BytesPerSecond::Zero()).value();
  CheckStorageNumber("storage_bandwidth_bytes_per_second",
                     spec.storage_bandwidth.has_value() ? &bandwidth : nullptr,
                     false, storage, violations);
  const double latency = spec.storage_latency.value_or(Seconds::Zero()).value();
  CheckStorageNumber("storage_latency_seconds",
                     spec.storage_latency.has_value() ? &latency : nullptr,
                     true, storage, violations);
}

void CheckKvSources(const Target& target, const KvTransferSpec& spec,
                    Violations& violations) {
  const Fabric& fabric = target.view().fabric;
  for (size_t i = 0; i < spec.sources.size(); ++i) {
    const std::optional<LinkTier> tier = TierOf(spec.sources[i]);
    if (!tier.has_value()) continue;
    if (fabric.FindLink(*tier) == nullptr) {
      violations.Add(Indexed("source_tiers", i),
                     absl::StrCat("is \"", KvSourceName(spec.sources[i]),
                                  "\"; fabric \"", fabric.spec().id,
                                  "\" has no ", LinkTierName(*tier), " link"));
      continue;
    }
    // A host's memory is behind each device's own lanes.
    if (spec.sources[i] == KvSource::kHost) continue;
    Violations of_send;
    CheckKvSend(KvSendFrom(spec.sources[i], spec, false), target.layout(),
                fabric, of_send);
    for (const Violation& violation : of_send.all()) {
      violations.Add(violation.field == "tier" ? Indexed("source_tiers", i)
                                               : violation.field,
                     violation.description);
    }
  }
}

KvSend KvSendFrom(KvSource source, const KvTransferSpec& spec,
                  bool layer_wise) {
  KvSend send{.tier = *TierOf(source), .nics = {}, .layer_wise = layer_wise};
  if (source == KvSource::kRdma) send.nics = spec.nics;
  return send;
}

}  // namespace mansard::model
