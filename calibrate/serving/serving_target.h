// What a row of a served run ran on: model, device, formats, layout and engine
// as the catalog has them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "calibrate/tables/serving_rows.h"
#include "model/estimate/cache_bytes.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "model/serving/serving_spec.h"

namespace mansard::calibrate {

// A target of its own, so that what refers to it may.
struct ServedTarget {
  ServedTarget(model::Target made, const model::ServingLimits& with,
               double memory_share,
               std::shared_ptr<const model::KernelStack> own);

  // Requests of so many tokens that the cache of a deployment which was
  // measured holds, on all data ranks together: what the engine's share of the
  // memory leaves beside the weights and 4 GB, at least 3 % of it, whatever the
  // estimate of the weights says (Mansard design, end to end §1.1).
  double RequestsThatFit(int64_t context) const;

  std::shared_ptr<const model::KernelStack> own_stack;  // Null: the profile's.
  model::Target target;
  model::ServingLimits limits;
  bool has_experts = false;
  int weight_bits = 16;      // As CostCase has them.
  std::string architecture;  // Of the device: "blackwell".

 private:
  model::Bytes room_;  // Of one rank.
  model::RequestCache cache_;
};

// Why a row has no target: "model not in the catalog", or what Target::Create
// says.
struct NoTarget {
  std::string reason;
};
using MaybeTarget = std::variant<NoTarget, std::shared_ptr<const ServedTarget>>;

// Which pool of a disaggregated row.
enum class RowPool { kAggregated, kPrefill, kDecode };

// The catalog's id of a table's model; `precision` tells checkpoints apart.
absl::string_view GraphId(absl::string_view model, absl::string_view precision);

struct TargetOptions {
  // With the costs that are shipped for the row's engine; else as if no run had
  // been measured.
  bool fitted = true;
  std::string stack = "";  // In place of the rows' own engines.
};

class ServingTargets {
 public:
  // The data outlive it.
  ServingTargets(const model::ShippedData& data, const TargetOptions& options)
      : data_(&data), options_(options) {}

  // Made once for all rows alike.
  const MaybeTarget& TargetOf(const ServingRow& row,
                              RowPool pool = RowPool::kAggregated);

 private:
  MaybeTarget Make(const ServingRow& row, RowPool pool) const;
  // `own` holds it where the profile has none; null where there is none.
  const model::KernelStack* StackOf(
      const ServingRow& row, const model::HardwareProfile& profile,
      std::shared_ptr<const model::KernelStack>& own) const;

  const model::ShippedData* data_;
  TargetOptions options_;
  std::map<std::string, MaybeTarget> targets_;
};

}  // namespace mansard::calibrate
