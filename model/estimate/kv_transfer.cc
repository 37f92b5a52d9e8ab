#include "model/estimate/kv_transfer.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/estimate/kv_send.h"
#include "model/estimate/step_time.h"

namespace mansard::model {
namespace {

// One request's prefix without what is cached.
ForwardPass PrefillOf(int64_t tokens, int64_t cached) {
  Violations none;
  return *ForwardPass::Create({{.role = Role::kPrefill,
                                .request_count = 1,
                                .new_tokens = tokens - cached,
                                .prior_tokens = cached}},
                              tokens, none);
}

class Planner {
 public:
  Planner(const Target& target, const KvTransferSpec& spec)
      : target_(target), spec_(spec) {}

  std::optional<KvTransferPlan> Run(absl::FunctionRef<bool()> keep_going) {
    KvTransferPlan plan;
    plan.recompute = Recompute(spec_.prefix_tokens);
    std::tie(plan.rank, plan.instance) = BytesAt(spec_.prefix_tokens);
    if (!SampleRecompute(keep_going)) return std::nullopt;
    for (KvSource source : spec_.sources) {
      if (!keep_going()) return std::nullopt;
      plan.fetches.push_back(Fetch(source, plan));
    }
    return plan;
  }

 private:
  struct Sample {
    int64_t tokens;
    Seconds recompute;
  };

  Seconds Recompute(int64_t tokens) {
    return timer_.Estimate(target_, PrefillOf(tokens, spec_.cached_tokens));
  }

  // Of the busiest rank, and of all that hold the request.
  std::pair<Bytes, Bytes> BytesAt(int64_t tokens) const {
    const ForwardPass pass = PrefillOf(tokens, spec_.cached_tokens);
    const Layout& layout = target_.layout();
    Bytes busiest, all;
    for (int stage = 0; stage < layout.pipeline(); ++stage) {
      const Bytes rank = KvOfPrompts(target_.setup(), pass, stage);
      busiest = Max(busiest, rank);
      all += layout.tensor() * layout.context() * rank;
    }
    return {busiest, all};
  }

  std::optional<OpTime> Link(KvSource source, int64_t tokens,
                             bool layer_wise) const {
    const auto sent =
        TimeKvSend(target_.setup(), PrefillOf(tokens, spec_.cached_tokens),
                   KvSendFrom(source, spec_, layer_wise));
    if (!sent.has_value()) return std::nullopt;
    return sent->time;
  }

  Seconds StorageMoves(Bytes instance) const {
    return instance / *spec_.storage_bandwidth;
  }

  Seconds FetchTime(KvSource source, int64_t tokens) const {
    switch (source) {
      case KvSource::kHbm:
        return Seconds::Zero();
      case KvSource::kHost:
      case KvSource::kNvlink:
      case KvSource::kRdma: {
        const std::optional<OpTime> time = Link(source, tokens, false);
        return time.has_value() ? time->estimate : Seconds::Zero();
      }
      case KvSource::kStorage:
        return *spec_.storage_latency + StorageMoves(BytesAt(tokens).second);
    }
    return Seconds::Zero();
  }

  KvFetch Fetch(KvSource source, const KvTransferPlan& plan) {
    KvFetch fetch;
    fetch.source = source;
    fetch.preferences = Preferences(source);
    if (source == KvSource::kHbm) return fetch;
    fetch.rank = plan.rank;
    fetch.instance = plan.instance;
    fetch.estimate = FetchTime(source, spec_.prefix_tokens);
    fetch.exposed = fetch.estimate;
    if (source == KvSource::kStorage) {
      fetch.floor = StorageMoves(plan.instance);
      return fetch;
    }
    const std::optional<OpTime> time = Link(source, spec_.prefix_tokens, false);
    if (!time.has_value()) return fetch;
    fetch.floor = time->floor;
    fetch.tier = time->tier;
    if (source == KvSource::kHost) return fetch;
    const std::optional<OpTime> layer_wise =
        Link(source, spec_.prefix_tokens, true);
    fetch.exposed = Min(fetch.exposed, layer_wise->estimate);
    return fetch;
  }

  bool SampleRecompute(absl::FunctionRef<bool()> keep_going) {
    const int64_t most =
        std::min(target_.graph().spec().max_context,
                 spec_.cached_tokens + ForwardPass::kMaxNewTokens);
    int64_t tokens = 0;
    for (int half = 0; tokens < most; ++half) {
      if (!keep_going()) return false;
      const int64_t next =
          spec_.cached_tokens + std::llround(std::exp2(half / 2.0));
      if (next == tokens) continue;
      tokens = std::min(next, most);
      samples_.push_back({tokens, Recompute(tokens)});
    }
    return true;
  }

  bool Prefers(KvSource source, int64_t tokens, Seconds recompute) const {
    return FetchTime(source, tokens) <= recompute;
  }

  std::vector<KvPreference> Preferences(KvSource source) {
    std::vector<KvPreference> found;
    int64_t before = 0;
    for (const Sample& sample : samples_) {
      const bool fetch = Prefers(source, sample.tokens, sample.recompute);
      if (found.empty()) {
        found.push_back({sample.tokens, fetch});
      } else if (found.back().fetch != fetch) {
        found.push_back({Change(source, before, sample.tokens, fetch), fetch});
      }
      before = sample.tokens;
    }
    return found;
  }

  // The first length with the answer that `after` has and `before` has not.
  int64_t Change(KvSource source, int64_t before, int64_t after, bool fetch) {
    while (after - before > 1) {
      const int64_t middle = before + (after - before) / 2;
      const bool like_after =
          Prefers(source, middle, Recompute(middle)) == fetch;
      (like_after ? after : before) = middle;
    }
    return after;
  }

  const Target& target_;
  const KvTransferSpec& spec_;
  StepTimer timer_;
  std::vector<Sample> samples_;
};

}  // namespace

std::optional<KvTransferPlan> PlanKvTransfer(
    const Target& target, const KvTransferSpec& spec,
    absl::FunctionRef<bool()> keep_going) {
  return Planner(target, spec).Run(keep_going);
}

}  // namespace mansard::model
