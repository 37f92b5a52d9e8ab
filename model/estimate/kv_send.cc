#include "model/estimate/kv_send.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/estimate/cache_bytes.h"

namespace mansard::model {
namespace {

// Between a rank and its peer.
CollectiveShape PeerShape(const KvSend& send, const Layout& layout) {
  CollectiveShape shape{.ranks = 2, .tier = send.tier};
  if (send.tier == LinkTier::kRdma) shape.node_ranks = 1;
  if (send.nics.has_value()) {
    shape.links = static_cast<double>(*send.nics) / RequestRanks(layout);
  }
  return shape;
}

// Computing, as far as sending one stage's layers can hide behind it.
struct Cover {
  Seconds layer;  // Of one layer.
  int layers = 1;
  Seconds after;  // Until the pass is at its end.

  Seconds Exposed(Seconds transfer) const {
    return Max(Seconds::Zero(), ExposedBehind(transfer, layer, layers) - after);
  }
};

// `time` of one layer -> what of all layers is left after the pass.
OpTime Uncovered(const OpTime& time, const Cover& cover) {
  OpTime left = time;
  left.floor = cover.Exposed(time.floor);
  left.overlapped = cover.Exposed(time.overlapped);
  left.estimate = cover.Exposed(time.estimate);
  left.serial = cover.Exposed(time.serial);
  left.p10 = cover.Exposed(time.p10);
  left.p90 = cover.Exposed(time.p90);
  const double share = left.estimate / time.estimate;
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    left.attributed[r] *= share;
    left.busy[r] *= cover.layers;
  }
  for (Bytes* moved :
       {&left.traffic.hbm_kv, &left.traffic.link, &left.traffic.network}) {
    *moved *= cover.layers;
  }
  return left;
}

class Sending {
 public:
  Sending(const PassSetup& setup, const ForwardPass& pass, const KvSend& send)
      : setup_(setup),
        pass_(pass),
        shape_(PeerShape(send, setup.layout)),
        layer_wise_(send.layer_wise) {
    if (!layer_wise_) return;
    OpList scratch;
    stages_ = TimeStages(setup, pass, scratch);
    micro_batches_ = MicroBatches(setup, pass);
  }

  // Nothing where the stage has nothing to send.
  std::optional<TimedOp> Stage(int stage) const {
    const Bytes all = KvOfPrompts(setup_, pass_, stage);
    if (all == Bytes::Zero()) return std::nullopt;
    TimedOp sent{.op = KvTransferOp(shape_, all), .time = {}};
    const Cover cover = CoverOf(stage);
    sent.time = Uncovered(
        Price(KvTransferOp(shape_, all / cover.layers), setup_.view), cover);
    return sent;
  }

 private:
  Cover CoverOf(int stage) const {
    if (!layer_wise_) return {};
    const RequestCache cache(setup_.graph, setup_.layout, stage, setup_.formats,
                             nullptr);
    Cover cover{.layer = {}, .layers = cache.LayersHeld(), .after = {}};
    cover.layer = micro_batches_ * stages_.times[static_cast<size_t>(stage)] /
                  cover.layers;
    for (size_t i = static_cast<size_t>(stage) + 1; i < stages_.times.size();
         ++i) {
      cover.after += stages_.times[i];
    }
    return cover;
  }

  const PassSetup& setup_;
  const ForwardPass& pass_;
  const CollectiveShape shape_;
  const bool layer_wise_;
  StageTimes stages_;
  int micro_batches_ = 1;
};

}  // namespace

int RequestRanks(const Layout& layout) {
  return layout.tensor() * layout.context() * layout.pipeline();
}

void CheckKvSend(const KvSend& send, const Layout& layout, const Fabric& fabric,
                 Violations& violations) {
  const Link* link = fabric.FindLink(send.tier);
  if (link == nullptr) {
    violations.Add(
        "tier", absl::StrCat("is \"", LinkTierName(send.tier), "\"; fabric \"",
                             fabric.spec().id, "\" has no such link"));
  } else if (link->domain_devices > 0) {
    const int in_node = std::min(RequestRanks(layout),
                                 layout.device_count() / layout.node_count());
    if (2 * in_node > link->domain_devices) {
      violations.Add(
          "tier",
          absl::StrCat("is \"", LinkTierName(send.tier), "\", which joins ",
                       link->domain_devices, " devices; ", in_node,
                       " that hold a request and as many peers need ",
                       2 * in_node));
    }
  }
  if (!send.nics.has_value()) return;
  violations.CheckRange("nic_count", *send.nics, 1, Parallelism::kMaxDevices);
  if (send.tier != LinkTier::kRdma) {
    violations.Add("nic_count",
                   absl::StrCat("is ", *send.nics, "; counts for rdma only"));
  }
}

std::vector<std::string> KvSendAssumptions(const KvSend& send,
                                           const KernelStack& stack) {
  const size_t key = static_cast<size_t>(send.tier);
  if (stack.spec().fine.send_receive.For(key) != nullptr) return {};
  return {absl::StrCat("keys and values cross ", LinkTierName(send.tier),
                       " as fast as a collective's messages: the kernel stack "
                       "knows no transfer of its own")};
}

Bytes KvOfPrompts(const PassSetup& setup, const ForwardPass& pass, int stage) {
  const RequestCache cache(setup.graph, setup.layout, stage, setup.formats,
                           nullptr);
  Bytes bytes;
  const ForwardPass mine = pass.LargestPart(setup.layout.data());
  for (const RequestGroup& group : mine.groups()) {
    if (group.role != Role::kPrefill) continue;
    bytes += static_cast<double>(group.request_count) * cache.Missing(group);
  }
  return bytes;
}

Seconds ExposedBehind(Seconds transfer, Seconds compute, int layers) {
  return transfer + (layers - 1) * Max(Seconds::Zero(), transfer - compute);
}

std::optional<TimedOp> TimeKvSend(const PassSetup& setup,
                                  const ForwardPass& pass, const KvSend& send) {
  const Sending sending(setup, pass, send);
  std::optional<TimedOp> last;
  for (int stage = 0; stage < setup.layout.pipeline(); ++stage) {
    std::optional<TimedOp> sent = sending.Stage(stage);
    if (!sent.has_value()) continue;
    if (last.has_value() && sent->time.estimate <= last->time.estimate) {
      continue;
    }
    last = std::move(sent);
  }
  return last;
}

}  // namespace mansard::model
