#include "calibrate/refresh/cuda_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibrate/refresh/cuda_device.h"
#include "model/ops/op.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::Format;
using model::Op;

constexpr int64_t kTargetSide = 512;
constexpr int64_t kTargetTokens = 512;

std::string NameOf(Format format) {
  return std::string(model::TraitsOf(format).name);
}

// "cuBLASLt 13.1.0" -> its two words.
void SetSoftware(const std::string& software, MeasuredCase& row) {
  const std::vector<std::string> words =
      absl::StrSplit(software, absl::MaxSplits(' ', 1));
  row.framework = words.front();
  row.version = words.size() > 1 ? words[1] : "";
}

// A row of one op, which the device has units for.
void SetOp(const Op& op, std::optional<Format> format, MeasuredCase& row) {
  row.ops = [op, format](
                const model::Device& device,
                const model::KernelStack&) -> std::optional<model::OpList> {
    if (format.has_value() && !device.HasTensor(*format)) return std::nullopt;
    return model::OpList{op};
  };
}

void SetProduct(const Case& measured, MeasuredCase& row) {
  const Format format = measured.format;
  row.table = "gemm";
  row.slice = NameOf(format);
  row.side = SideOf({measured.m, measured.n, measured.k});
  row.size = Operations(measured);
  row.in_target = std::min(measured.n, measured.k) >= kTargetSide;
  SetOp(model::GemmOp({measured.m, measured.n, measured.k, 1, format, format,
                       ResultFormat(measured), format},
                      false),
        format, row);
}

// Together with the products whose input it makes.
void SetQuantisation(const Case& measured, MeasuredCase& row) {
  row.table = "gemm";
  row.slice = absl::StrCat(NameOf(Format::kFp8E4m3), " + quantize");
  row.side = SideOf({measured.rows, measured.columns});
  row.size = MovedBytes(measured);
  row.in_target = false;
  row.warm_cache = true;
  SetOp(model::QuantizeOp({measured.rows, measured.columns, measured.format},
                          Format::kFp8E4m3),
        Format::kFp8E4m3, row);
}

void SetAttention(const Case& measured, MeasuredCase& row) {
  const bool decodes = measured.kind == CaseKind::kDecodeAttention;
  row.table = decodes ? "attention_decode" : "attention_prefill";
  row.slice = NameOf(measured.format);
  row.side =
      SideOf({measured.requests, measured.context_tokens, measured.query_heads,
              measured.kv_heads, measured.head_size});
  row.in_target = decodes || measured.context_tokens >= kTargetTokens;
  model::AttentionShape shape;
  shape.group.role = decodes ? model::Role::kDecode : model::Role::kPrefill;
  shape.group.request_count = measured.requests;
  shape.group.new_tokens = decodes ? 1 : measured.context_tokens;
  shape.group.prior_tokens = decodes ? measured.context_tokens - 1 : 0;
  shape.query_heads = static_cast<int>(measured.query_heads);
  shape.kv_heads = static_cast<int>(measured.kv_heads);
  shape.head_size = static_cast<int>(measured.head_size);
  shape.input = measured.format;
  shape.kv_cache = measured.format;
  const Op op = model::AttentionOp(shape);
  row.size = decodes ? op.work.kv_read.value() : op.work.tensor.value();
  SetOp(op, measured.format, row);
}

// Names of the measured tables, whose plans take them.
void SetElementwise(const Case& measured, MeasuredCase& row) {
  const model::ElementwiseShape shape{measured.rows, measured.columns,
                                      measured.format};
  row.table = "elementwise_norm";
  row.side = SideOf({measured.rows, measured.columns});
  row.size = MovedBytes(measured);
  // Operands stay where the last run left them.
  row.warm_cache = true;
  const char* name = "residual_add";
  Op op = model::ResidualOp(shape);
  if (measured.kind == CaseKind::kNorm) {
    name = "rmsnorm";
    op = model::NormOp(shape, false, measured.format);
  } else if (measured.kind == CaseKind::kActivation) {
    name = "silu_and_mul";
    op = model::ActivationOp(shape, true);
  }
  row.slice = absl::StrCat(name, " ", NameOf(measured.format));
  SetOp(op, std::nullopt, row);
}

struct CollectiveRow {
  CaseKind kind;
  Op (*make)(const model::CollectiveShape& shape, Bytes message);
};
constexpr CollectiveRow kCollectives[] = {
    {CaseKind::kAllReduce, &model::AllReduceOp},
    {CaseKind::kAllGather, &model::AllGatherOp},
    {CaseKind::kReduceScatter, &model::ReduceScatterOp},
    {CaseKind::kAllToAll, &model::AllToAllOp},
    {CaseKind::kSendReceive, &model::SendReceiveOp},
};

// Not without a link that is known.
bool SetCollective(const Record& record, const Case& measured,
                   MeasuredCase& row) {
  const absl::string_view link = LinkOf(record);
  const std::optional<model::LinkTier> tier = model::ParseLinkTier(link);
  if (!tier.has_value()) return false;
  for (const CollectiveRow& collective : kCollectives) {
    if (collective.kind != measured.kind) continue;
    const auto collectives = record.device.notes.find("collectives");
    SetSoftware(
        collectives == record.device.notes.end() ? "NCCL" : collectives->second,
        row);
    row.table = "collectives";
    row.slice = absl::StrCat(CaseKindName(measured.kind), " ", link, " x",
                             measured.ranks);
    row.side = SideOf({measured.ranks, 1, measured.bytes});
    row.size = static_cast<double>(measured.bytes);
    const int ranks = static_cast<int>(measured.ranks);
    SetOp(collective.make({ranks, *tier, ranks}, Bytes::Of(row.size)),
          std::nullopt, row);
    return true;
  }
  return false;
}

// False: plans take no such case.
bool SetRow(const Record& record, const Case& measured, MeasuredCase& row) {
  switch (measured.kind) {
    case CaseKind::kGemm:
      SetProduct(measured, row);
      return true;
    case CaseKind::kQuantize:
      SetQuantisation(measured, row);
      return true;
    case CaseKind::kDecodeAttention:
    case CaseKind::kPrefillAttention:
      SetAttention(measured, row);
      return true;
    case CaseKind::kNorm:
    case CaseKind::kActivation:
    case CaseKind::kResidual:
      SetElementwise(measured, row);
      return true;
    case CaseKind::kAllReduce:
    case CaseKind::kAllGather:
    case CaseKind::kReduceScatter:
    case CaseKind::kAllToAll:
    case CaseKind::kSendReceive:
      return SetCollective(record, measured, row);
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
    case CaseKind::kHostToDevice:
    case CaseKind::kDeviceToHost:
    case CaseKind::kPeerCopy:
      return false;
  }
  return false;
}

}  // namespace

std::vector<MeasuredCase> CudaRows(const Record& record) {
  std::vector<MeasuredCase> rows;
  for (size_t i = 0; i < record.results.size(); ++i) {
    const CaseResult& result = record.results[i];
    if (result.outcome != Outcome::kMeasured || result.measured.sustained) {
      continue;
    }
    MeasuredCase row;
    row.row = i;
    row.device = record.device.name;
    row.source = absl::StrCat("record of ", record.date);
    row.measured = model::Seconds::Of(result.seconds.median);
    std::vector<std::string> sizes;
    for (const auto& [name, size] : SizesOf(result.measured)) {
      sizes.push_back(absl::StrCat(name, "=", size));
    }
    row.shape = absl::StrJoin(sizes, " ");
    if (result.measured.kind == CaseKind::kGemm) {
      SetSoftware(record.device.software, row);
    } else {
      row.framework = "own";
    }
    if (SetRow(record, result.measured, row)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace mansard::calibrate
