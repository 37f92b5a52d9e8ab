#include "calibrate/measure/case.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

constexpr double kElementBytes = 4;

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
};

double Product(int64_t a, int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
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
  if (measured.sustained) absl::StrAppend(&id, " sustained");
  return id;
}

absl::StatusOr<Case> MakeCase(
    absl::string_view kind, bool sustained,
    const std::vector<std::pair<std::string, int64_t>>& sizes) {
  Case made;
  made.sustained = sustained;
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

double MovedBytes(const Case& measured) {
  const double elements = Product(measured.rows, measured.columns);
  const double bytes = static_cast<double>(measured.bytes);
  switch (measured.kind) {
    case CaseKind::kCopy:
      return 2 * bytes;
    case CaseKind::kTriad:
      return 3 * bytes;
    case CaseKind::kRead:
      return bytes;
    case CaseKind::kMultiplyAdd:
      return 0;
    case CaseKind::kGemm:
      return kElementBytes * (Product(measured.m, measured.k) +
                              Product(measured.n, measured.k) +
                              Product(measured.m, measured.n));
    case CaseKind::kNorm:
      return kElementBytes * 2 * elements;
    case CaseKind::kActivation:
    case CaseKind::kResidual:
      return kElementBytes * 3 * elements;
    case CaseKind::kDecodeAttention:
    case CaseKind::kPrefillAttention:
      return kElementBytes *
             (CacheElements(measured) +
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
      return 0;
  }
  return 0;
}

}  // namespace mansard::calibrate
