#include "calibrate/tables/elementwise_cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/tables/names.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::ElementwiseShape;
using model::ElementwiseUse;
using model::Format;
using model::Op;

struct Kernel {
  const char* name;  // In the table.
  std::optional<ElementwiseUse> use;
  Op (*op)(const ElementwiseShape& shape, Format made);
};
const Kernel kKernels[] = {
    {"rmsnorm", ElementwiseUse::kNorm,
     [](const ElementwiseShape& shape, Format) {
       return model::NormOp(shape, false, shape.format);
     }},
    {"layernorm", std::nullopt,
     [](const ElementwiseShape& shape, Format) {
       return model::NormOp(shape, false, shape.format);
     }},
    {"fused_add_rmsnorm", ElementwiseUse::kNorm,
     [](const ElementwiseShape& shape, Format) {
       return model::NormOp(shape, true, shape.format);
     }},
    {"silu_and_mul", ElementwiseUse::kActivation,
     [](const ElementwiseShape& shape, Format) {
       return model::ActivationOp(shape, true);
     }},
    {"gelu", std::nullopt,
     [](const ElementwiseShape& shape, Format) {
       return model::ActivationOp(shape, false);
     }},
    {"rope_qk", ElementwiseUse::kRope,
     [](const ElementwiseShape& shape, Format) {
       return model::RopeOp(shape);
     }},
    {"residual_add", ElementwiseUse::kResidual,
     [](const ElementwiseShape& shape, Format) {
       return model::ResidualOp(shape);
     }},
    {"add_vec_vec", std::nullopt,
     [](const ElementwiseShape& shape, Format) {
       return model::ResidualOp(shape);
     }},
    {"embedding_lookup", ElementwiseUse::kEmbedding,
     [](const ElementwiseShape& shape, Format) {
       return model::EmbeddingOp(shape, shape.format);
     }},
    {"fp8_scale_and_cast", std::nullopt,
     [](const ElementwiseShape& shape, Format made) {
       return model::QuantizeOp(shape, made);
     }},
};

const Kernel* KernelNamed(absl::string_view name) {
  for (const Kernel& kernel : kKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

MeasuredCase CaseOf(const Table& table, int64_t rows, int64_t columns) {
  MeasuredCase measured = table.CommonCase();
  measured.side = SideOf({rows, columns});
  measured.warm_cache = true;
  measured.shape = absl::StrCat("rows=", rows, " columns=", columns);
  measured.slice = absl::StrCat(table.text("op"), " ", table.text("dtype_in"));
  const Kernel* kernel = KernelNamed(table.text("op"));
  const std::optional<Format> format = FormatOfType(table.text("dtype_in"));
  const std::optional<Format> made = FormatOfType(table.text("dtype_out"));
  if (kernel == nullptr || !format || !made) {
    measured.ops = [](const model::Device&, const model::KernelStack&)
        -> std::optional<model::OpList> { return std::nullopt; };
    return measured;
  }
  const ElementwiseShape shape{rows, columns, *format};
  measured.size = model::ActivationBytes(*format, rows, columns).value();
  measured.ops =
      [kernel, shape, made = *made](
          const model::Device&,
          const model::KernelStack&) -> std::optional<model::OpList> {
    return model::OpList{kernel->op(shape, made)};
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadElementwiseCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(Table table,
                   Table::Open(csv, {"device", "op", "dtype_in", "dtype_out",
                                     "rows", "cols", "latency_us", "framework",
                                     "framework_version", "source"}));
  std::vector<MeasuredCase> cases;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return cases;
    const int64_t rows = table.count("rows");
    const int64_t columns = table.count("cols");
    if (std::min(rows, columns) <= 0 || table.number("latency_us") <= 0) {
      continue;
    }
    cases.push_back(CaseOf(table, rows, columns));
  }
}

std::optional<ElementwiseUse> UseOfSlice(absl::string_view slice) {
  const Kernel* kernel = KernelNamed(slice.substr(0, slice.find(' ')));
  return kernel == nullptr ? std::nullopt : kernel->use;
}

}  // namespace mansard::calibrate
