#include "calibrate/tables/collective_cases.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::CollectiveShape;
using model::LinkTier;
using model::Op;

using Tables = model::FineFamilies;

struct Kind {
  const char* table;
  const char* here;  // As bindings of kernel families call it.
  Op (*make)(const CollectiveShape& shape, Bytes message);
  model::ByTier<model::CollectiveFamily> Tables::*lines;
};
constexpr Kind kKinds[] = {
    {"all_reduce", "all_reduce", &model::AllReduceOp, &Tables::all_reduce},
    {"all_gather", "all_gather", &model::AllGatherOp, &Tables::all_gather},
    {"reduce_scatter", "reduce_scatter", &model::ReduceScatterOp,
     &Tables::reduce_scatter},
    {"alltoall", "all_to_all", &model::AllToAllOp, &Tables::all_to_all},
    {"send_recv", "send_receive", &model::SendReceiveOp, &Tables::send_receive},
};

const Kind* KindNamed(absl::string_view name) {
  for (const Kind& kind : kKinds) {
    if (name == kind.table) return &kind;
  }
  return nullptr;
}

// The outermost tier; empty where the link is none of ours.
std::optional<LinkTier> TierOf(absl::string_view link, int64_t nodes) {
  if (nodes > 1) return LinkTier::kRdma;
  // Bridges join pairs; what is beyond them goes another way.
  if (absl::StrContains(link, "bridge")) return std::nullopt;
  if (absl::StartsWith(link, "NVLink")) return LinkTier::kNvlink;
  if (absl::StartsWith(link, "PCIe")) return LinkTier::kPcie;
  return std::nullopt;
}

constexpr double kTargetFrom = 4096;
constexpr double kTargetTo = 1 << 30;
constexpr absl::string_view kOwn = " custom all-reduce";

// Precondition: a positive count of ranks in so many nodes.
MeasuredCase CaseOf(const Table& table, const Kind& kind, int64_t ranks,
                    int64_t nodes) {
  MeasuredCase measured = table.CommonCase();
  const int64_t bytes = table.count("message_bytes");
  measured.framework =
      std::string(absl::StripSuffix(table.text("library"), kOwn));
  measured.version = table.text("library_version");
  measured.side = SideOf({ranks, nodes, bytes});
  measured.size = static_cast<double>(bytes);
  const bool adds_bytes = table.text("dtype") == "int8";
  const bool eager = absl::EndsWith(table.text("algo_or_mode"), "eager");
  measured.in_target =
      !eager && measured.size >= kTargetFrom && measured.size <= kTargetTo;
  measured.shape =
      absl::StrCat("ranks=", ranks, " nodes=", nodes, " bytes=", bytes);
  const std::optional<LinkTier> tier = TierOf(table.text("link"), nodes);
  measured.slice = absl::StrCat(
      kind.here, " ",
      tier ? model::LinkTierName(*tier) : absl::string_view(table.text("link")),
      " x", ranks, nodes > 1 ? absl::StrCat("/", nodes) : "",
      adds_bytes ? " int8" : "", eager ? " eager" : "");
  CollectiveShape shape{static_cast<int>(ranks), LinkTier::kNvlink,
                        static_cast<int>(ranks / nodes)};
  if (tier) shape.tier = *tier;
  // The switch adds no integers.
  if (adds_bytes && measured.slice.rfind("all_reduce", 0) == 0) {
    shape.algorithm = model::CollectiveAlgorithm::kRing;
  }
  measured.ops =
      [kind, shape, bytes, known = tier.has_value()](
          const model::Device&,
          const model::KernelStack& stack) -> std::optional<model::OpList> {
    const size_t on = static_cast<size_t>(shape.tier);
    if (!known || (!stack.spec().collectives[on] &&
                   (stack.spec().fine.*kind.lines).For(on) == nullptr)) {
      return std::nullopt;
    }
    return model::OpList{
        kind.make(shape, Bytes::Of(static_cast<double>(bytes)))};
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadCollectiveCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv,
                  {"device", "link", "op", "dtype", "n_gpus", "n_nodes",
                   "gpus_per_node", "message_bytes", "latency_us", "library",
                   "library_version", "algo_or_mode", "source"}));
  std::vector<MeasuredCase> cases;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return cases;
    const Kind* kind = KindNamed(table.text("op"));
    const int64_t ranks = table.count("n_gpus");
    const int64_t nodes = table.count("n_nodes");
    if (kind == nullptr || nodes < 1 || ranks < 2 || ranks % nodes != 0 ||
        table.count("message_bytes") < 1 || table.number("latency_us") <= 0) {
      continue;
    }
    cases.push_back(CaseOf(table, *kind, ranks, nodes));
  }
}

}  // namespace mansard::calibrate
