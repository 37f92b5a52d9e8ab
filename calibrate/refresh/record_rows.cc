#include "calibrate/refresh/record_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mansard::calibrate {
namespace {

using model::Format;

model::Op AttentionOf(const Case& measured) {
  const bool decodes = measured.kind == CaseKind::kDecodeAttention;
  model::AttentionShape shape;
  shape.group.role = decodes ? model::Role::kDecode : model::Role::kPrefill;
  shape.group.request_count = measured.requests;
  shape.group.new_tokens = decodes ? 1 : measured.context_tokens;
  shape.group.prior_tokens = decodes ? measured.context_tokens - 1 : 0;
  shape.query_heads = static_cast<int>(measured.query_heads);
  shape.kv_heads = static_cast<int>(measured.kv_heads);
  shape.head_size = static_cast<int>(measured.head_size);
  shape.input = Format::kFp32;
  shape.kv_cache = Format::kFp32;
  return model::AttentionOp(shape);
}

}  // namespace

model::Op OpOf(const Case& measured) {
  const model::ElementwiseShape rows{measured.rows, measured.columns,
                                     Format::kFp32};
  switch (measured.kind) {
    case CaseKind::kNorm:
      return model::NormOp(rows, false, Format::kFp32);
    case CaseKind::kActivation:
      return model::ActivationOp(rows, true);
    case CaseKind::kResidual:
      return model::ResidualOp(rows);
    case CaseKind::kDecodeAttention:
    case CaseKind::kPrefillAttention:
      return AttentionOf(measured);
    case CaseKind::kGemm:
    case CaseKind::kCopy:
    case CaseKind::kTriad:
    case CaseKind::kRead:
    case CaseKind::kMultiplyAdd:
    case CaseKind::kCacheRead:
    case CaseKind::kSharedRead:
    case CaseKind::kPointerChase:
    case CaseKind::kTensorMultiplyAdd:
    case CaseKind::kExponential:
    case CaseKind::kLaunch:
    case CaseKind::kGraphLaunch:
    case CaseKind::kQuantize:
    case CaseKind::kHostToDevice:
    case CaseKind::kDeviceToHost:
    case CaseKind::kPeerCopy:
    case CaseKind::kAllReduce:
    case CaseKind::kAllGather:
    case CaseKind::kReduceScatter:
    case CaseKind::kAllToAll:
    case CaseKind::kSendReceive:
      break;
  }
  return model::GemmOp({measured.m, measured.n, measured.k, 1, Format::kFp32,
                        Format::kFp32, Format::kFp32, Format::kFp32},
                       false);
}

std::vector<MeasuredCase> RowsOf(const Record& record, CaseKind kind) {
  std::vector<MeasuredCase> rows;
  for (const CaseResult& result : record.results) {
    if (result.outcome != Outcome::kMeasured || result.measured.sustained ||
        result.measured.kind != kind) {
      continue;
    }
    MeasuredCase row;
    row.table = std::string(CaseKindName(kind));
    row.row = kNoRow;
    row.device = record.device.name;
    row.framework = record.device.software;
    row.source = absl::StrCat("record of ", record.date);
    row.slice = "fp32";
    // Element-wise operands are where the kernel before left them.
    row.warm_cache = kind == CaseKind::kNorm || kind == CaseKind::kActivation ||
                     kind == CaseKind::kResidual;
    row.measured = model::Seconds::Of(result.seconds.median);
    std::vector<std::string> sizes;
    for (const auto& [name, size] : SizesOf(result.measured)) {
      sizes.push_back(absl::StrCat(name, "=", size));
    }
    row.shape = absl::StrJoin(sizes, " ");
    row.ops = [op = OpOf(result.measured)](const model::Device&,
                                           const model::KernelStack&) {
      return std::optional<model::OpList>(model::OpList{op});
    };
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace mansard::calibrate
