#include "calibrate/measure/case.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

using model::Format;

struct SizeField {
  const char* name;
  int64_t Case::*size;
};
constexpr SizeField kSizes[] = {
    {"bytes", &Case::bytes},
    {"m", &Case::m},
    {"n", &Case::n},
    {"k", &Case::k},
    {"rows", &Case::rows},
    {"columns", &Case::columns},
    {"requests", &Case::requests},
    {"context_tokens", &Case::context_tokens},
    {"query_heads", &Case::query_heads},
    {"kv_heads", &Case::kv_heads},
    {"head_size", &Case::head_size},
    {"blocks", &Case::blocks},
    {"loads", &Case::loads},
    {"nodes", &Case::nodes},
    {"ranks", &Case::ranks},
    {"peer", &Case::peer},
};

double Product(int64_t a, int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

double ElementsBytes(Format format, double count) {
  return model::ElementBytes(format, count).value();
}

// Of keys and values of all requests.
double CacheElements(const Case& measured) {
  return 2 * Product(measured.requests, measured.context_tokens) *
         Product(measured.kv_heads, measured.head_size);
}

// Query rows of one request.
int64_t QueryRows(const Case& measured) {
  return measured.kind == CaseKind::kDecodeAttention ? 1
                                                     : measured.context_tokens;
}

}  // namespace

absl::string_view CaseKindName(CaseKind kind) {
  switch (kind) {
    case CaseKind::kCopy:
      return "copy";
    case CaseKind::kTriad:
      return "triad";
    case CaseKind::kRead:
      return "read";
    case CaseKind::kMultiplyAdd:
      return "multiply_add";
    case CaseKind::kGemm:
      return "gemm";
    case CaseKind::kNorm:
      return "norm";
    case CaseKind::kActivation:
      return "activation";
    case CaseKind::kResidual:
      return "residual";
    case CaseKind::kDecodeAttention:
      return "attention_decode";
    case CaseKind::kPrefillAttention:
      return "attention_prefill";
    case CaseKind::kCacheRead:
      return "cache_read";
    case CaseKind::kSharedRead:
      return "shared_read";
    case CaseKind::kPointerChase:
      return "pointer_chase";
    case CaseKind::kTensorMultiplyAdd:
      return "tensor_multiply_add";
    case CaseKind::kExponential:
      return "exponential";
    case CaseKind::kLaunch:
      return "launch";
    case CaseKind::kGraphLaunch:
      return "graph_launch";
    case CaseKind::kQuantize:
      return "quantize";
    case CaseKind::kHostToDevice:
      return "host_to_device";
    case CaseKind::kDeviceToHost:
      return "device_to_host";
    case CaseKind::kPeerCopy:
      return "peer_copy";
    case CaseKind::kAllReduce:
      return "all_reduce";
    case CaseKind::kAllGather:
      return "all_gather";
    case CaseKind::kReduceScatter:
      return "reduce_scatter";
    case CaseKind::kAllToAll:
      return "all_to_all";
    case CaseKind::kSendReceive:
      return "send_receive";
  }
  return "";
}

std::vector<std::pair<std::string, int64_t>> SizesOf(const Case& measured) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const SizeField& field : kSizes) {
    if (measured.*field.size != 0) {
      sizes.emplace_back(field.name, measured.*field.size);
    }
  }
  return sizes;
}

std::string CaseId(const Case& measured) {
  std::string id(CaseKindName(measured.kind));
  for (const auto& [name, size] : SizesOf(measured)) {
    absl::StrAppend(&id, " ", name, "=", size);
  }
  if (measured.format != Format::kFp32) {
    absl::StrAppend(&id, " ", model::TraitsOf(measured.format).name);
  }
  if (measured.sustained) absl::StrAppend(&id, " sustained");
  return id;
}

absl::StatusOr<Case> MakeCase(
    absl::string_view kind, bool sustained,
    const std::vector<std::pair<std::string, int64_t>>& sizes,
    absl::string_view format) {
  Case made;
  made.sustained = sustained;
  if (!format.empty()) {
    const std::optional<Format> parsed = model::ParseFormat(format);
    if (!parsed.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("format: \"", format, "\" is not known"));
    }
    made.format = *parsed;
  }
  bool known = false;
  for (const CaseKind one : kCaseKinds) {
    if (CaseKindName(one) != kind) continue;
    made.kind = one;
    known = true;
  }
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind: \"", kind, "\" is not known"));
  }
  for (const auto& [name, size] : sizes) {
    const SizeField* found = nullptr;
    for (const SizeField& field : kSizes) {
      if (name == field.name) found = &field;
    }
    if (found == nullptr || size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes: ", name, " = ", size, " is ",
                       found == nullptr ? "not known" : "below 1"));
    }
    made.*found->size = size;
  }
  return made;
}

Format ResultFormat(const Case& measured) {
  if (measured.format == Format::kInt8) return Format::kFp32;
  return model::IsLowPrecision(measured.format) ? Format::kBf16
                                                : measured.format;
}

double MovedBytes(const Case& measured) {
  const Format format = measured.format;
  const double elements = Product(measured.rows, measured.columns);
  const double bytes = static_cast<double>(measured.bytes);
  switch (measured.kind) {
    case CaseKind::kCopy:
      return 2 * bytes;
    case CaseKind::kTriad:
      return 3 * bytes;
    case CaseKind::kRead:
    case CaseKind::kCacheRead:
    case CaseKind::kSharedRead:
    case CaseKind::kHostToDevice:
    case CaseKind::kDeviceToHost:
    case CaseKind::kPeerCopy:
    case CaseKind::kAllReduce:
    case CaseKind::kAllGather:
    case CaseKind::kReduceScatter:
    case CaseKind::kAllToAll:
    case CaseKind::kSendReceive:
      return bytes;
    case CaseKind::kMultiplyAdd:
    case CaseKind::kPointerChase:
    case CaseKind::kTensorMultiplyAdd:
    case CaseKind::kExponential:
    case CaseKind::kLaunch:
    case CaseKind::kGraphLaunch:
      return 0;
    case CaseKind::kGemm:
      return ElementsBytes(format, Product(measured.m, measured.k) +
                                       Product(measured.n, measured.k)) +
             ElementsBytes(ResultFormat(measured),
                           Product(measured.m, measured.n));
    case CaseKind::kNorm:
      return ElementsBytes(format, 2 * elements);
    case CaseKind::kActivation:
    case CaseKind::kResidual:
      return ElementsBytes(format, 3 * elements);
    case CaseKind::kQuantize:
      return ElementsBytes(format, elements) +
             ElementsBytes(Format::kFp8E4m3, elements);
    case CaseKind::kDecodeAttention:
    case CaseKind::kPrefillAttention:
      return ElementsBytes(
          format, CacheElements(measured) +
                      2 * Product(measured.requests, QueryRows(measured)) *
                          Product(measured.query_heads, measured.head_size));
  }
  return 0;
}

double Operations(const Case& measured) {
  const double context = static_cast<double>(measured.context_tokens);
  const double width = Product(measured.requests, measured.query_heads) *
                       static_cast<double>(measured.head_size);
  switch (measured.kind) {
    case CaseKind::kGemm:
      return 2 * Product(measured.m, measured.n) *
             static_cast<double>(measured.k);
    case CaseKind::kDecodeAttention:
      return 4 * width * context;
    case CaseKind::kPrefillAttention:
      return 4 * width * context * (context + 1) / 2;
    case CaseKind::kCopy:
    case CaseKind::kTriad:
    case CaseKind::kRead:
    case CaseKind::kMultiplyAdd:
    case CaseKind::kNorm:
    case CaseKind::kActivation:
    case CaseKind::kResidual:
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
      return 0;
  }
  return 0;
}

}  // namespace mansard::calibrate
