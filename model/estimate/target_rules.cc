#include "model/estimate/target_rules.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/price/collective_algorithms.h"

namespace mansard::model {

void CheckOverlap(const Overlap& overlap, const TargetSpec& spec,
                  Violations& violations) {
  Violations::Scope scope(violations, "overlap");
  if (!(overlap.efficiency >= 0 && overlap.efficiency <= 1)) {
    violations.Add("efficiency_ratio", absl::StrCat("is ", overlap.efficiency,
                                                    "; allowed: 0 to 1"));
  }
  const auto& known = spec.hardware->device().spec().multiprocessor_count;
  const double most = known.has_value() ? known->value - 1 : 0;
  if (overlap.multiprocessors < 0 || overlap.multiprocessors > most) {
    violations.Add(
        "multiprocessor_count",
        absl::StrCat("is ", overlap.multiprocessors, "; allowed: 0 to ", most));
  }
  if (spec.parallelism.pipeline > 1) {
    violations.Add("kind",
                   overlap.kind == Overlap::Kind::kTwoBatch
                       ? "is \"two-batch\", which needs pipeline_size 1: a "
                         "pipeline overlaps micro-batches already"
                       : "is \"gemm\", which needs pipeline_size 1: stages are "
                         "timed without it");
  }
}

void CheckAllReduce(const TargetSpec& spec, const Layout& layout,
                    Violations& violations) {
  const CollectiveAlgorithm wish = spec.all_reduce_algorithm;
  if (wish == CollectiveAlgorithm::kAuto) return;
  const auto refuse = [&](const std::string& why) {
    violations.Add("all_reduce_algorithm",
                   absl::StrCat("is \"", AlgorithmName(wish), "\"; ", why));
  };
  if (layout.tensor() == 1) {
    refuse("there is one tensor rank, which reduces nothing");
    return;
  }
  const RankGroup& group = layout.tensor_group();
  const CollectiveShape shape{group.ranks, group.tier, group.node_ranks};
  std::set<CollectiveAlgorithm> known;
  for (double bytes = 1; bytes < 1e12; bytes *= 4) {
    for (CollectiveAlgorithm algorithm :
         AlgorithmsFor(AllReduceOp(shape, Bytes::Of(bytes)),
                       {spec.hardware->device(), *spec.fabric, *spec.stack})) {
      known.insert(algorithm);
    }
  }
  if (known.count(wish) > 0) return;
  std::string allowed;
  for (CollectiveAlgorithm algorithm : known) {
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ",
                    AlgorithmName(algorithm));
  }
  refuse(absl::StrCat("the kernel stack has for these ranks: ", allowed));
}

void ForceTile(const GemmTile& tile, KernelStackSpec& stack) {
  auto& table = stack.fine.plain_gemm;
  for (size_t key = 0; key < ByFormat<TiledGemmFamily>::kCases; ++key) {
    if (table.For(key) == nullptr) continue;
    TiledGemmFamily forced = *table.For(key);
    forced.tiles = {tile};
    table.Bind(key, forced);
  }
}

}  // namespace mansard::model
