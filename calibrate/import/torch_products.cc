#include "calibrate/import/torch_products.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibrate/import/json_text.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

struct Product {
  const char* name;
  size_t first;  // Of its arguments: the left operand, its right one follows.
  bool batched;
  bool scaled;  // The scales follow.
};
constexpr Product kProducts[] = {
    {"aten::mm", 0, false, false},        {"aten::addmm", 1, false, false},
    {"aten::bmm", 0, true, false},        {"aten::baddbmm", 1, true, false},
    {"aten::_scaled_mm", 0, false, true},
};

const Product* Find(absl::string_view name) {
  for (const Product& product : kProducts) {
    if (name == product.name) return &product;
  }
  return nullptr;
}

using Sizes = std::vector<int64_t>;

// Of one argument; empty where it has none, or not whole ones from 1 on.
Sizes SizesAt(const rapidjson::Value* all, size_t index) {
  Sizes sizes;
  if (all == nullptr || !all->IsArray() || index >= all->Size()) return sizes;
  const rapidjson::Value& one = (*all)[static_cast<rapidjson::SizeType>(index)];
  if (!one.IsArray()) return sizes;
  for (const rapidjson::Value& size : one.GetArray()) {
    if (!size.IsInt64() || size.GetInt64() < 1) return {};
    sizes.push_back(size.GetInt64());
  }
  return sizes;
}

absl::string_view TextAt(const rapidjson::Value* all, size_t index) {
  if (all == nullptr || !all->IsArray() || index >= all->Size()) return "";
  return TextOf(&(*all)[static_cast<rapidjson::SizeType>(index)]);
}

absl::StatusOr<std::string> ElementOf(absl::string_view type) {
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "fp16";
  if (type == "c10::Float8_e4m3fn" || type == "c10::Float8_e4m3fnuz") {
    return "fp8";
  }
  if (type == "float") {
    return absl::InvalidArgumentError("fp32, which may compute in tf32");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("type \"", type, "\", which no table has"));
}

// How many numbers share a scale, by the number of scales of the left operand.
absl::StatusOr<std::string> QuantizationOf(const Sizes& scales,
                                           const GemmRow& row) {
  // A double: sizes may be anything.
  double count = 1;
  for (const int64_t size : scales) count *= static_cast<double>(size);
  if (count == 1) return "per_tensor";
  const auto rows = static_cast<double>(row.m);
  const int64_t blocks = (row.k + 127) / 128;
  if (count == rows) return "per_token";
  if (count == rows * static_cast<double>(blocks)) return "block128";
  return absl::InvalidArgumentError(
      absl::StrCat(count, " scales, which no table has"));
}

// The type that the call asks for, by PyTorch's number; empty where the trace
// does not say.
std::string OutputOf(const rapidjson::Value* concrete) {
  constexpr size_t kOutputType = 6;
  const absl::string_view type = TextAt(concrete, kOutputType);
  if (type == "5") return "fp16";
  if (type == "15") return "bf16";
  if (type == "6") return "fp32";
  return "";
}

absl::Status SetShape(const Product& product, const rapidjson::Value* sizes,
                      GemmRow& row) {
  const size_t dimensions = product.batched ? 3 : 2;
  const Sizes left = SizesAt(sizes, product.first);
  const Sizes right = SizesAt(sizes, product.first + 1);
  if (left.size() != dimensions || right.size() != dimensions ||
      left.back() != right[dimensions - 2] ||
      (product.batched && left[0] != right[0])) {
    return absl::InvalidArgumentError(
        "sizes that are missing, empty or do not fit");
  }
  row.batch = product.batched ? left[0] : 1;
  row.m = left[dimensions - 2];
  row.k = left.back();
  row.n = right.back();
  // Beyond this no product was measured; and sizes multiply without care below.
  constexpr int64_t kMostSize = int64_t{1} << 31;
  for (const int64_t size : {row.batch, row.m, row.n, row.k}) {
    if (size > kMostSize) {
      return absl::InvalidArgumentError("sizes beyond 2^31");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsProduct(absl::string_view name) { return Find(name) != nullptr; }

absl::StatusOr<GemmRow> ProductOf(absl::string_view name,
                                  const rapidjson::Value& arguments) {
  const Product& product = *Find(name);
  const rapidjson::Value* sizes = Member(arguments, "Input Dims");
  const rapidjson::Value* types = Member(arguments, "Input type");
  GemmRow row;
  RETURN_IF_ERROR(SetShape(product, sizes, row));
  ASSIGN_OR_RETURN(row.input, ElementOf(TextAt(types, product.first)));
  ASSIGN_OR_RETURN(row.weights, ElementOf(TextAt(types, product.first + 1)));
  row.output = row.input;
  if (!product.scaled) {
    if (row.input != "fp8") return row;
    return absl::InvalidArgumentError("fp8 without scales");
  }
  ASSIGN_OR_RETURN(row.quantization,
                   QuantizationOf(SizesAt(sizes, product.first + 2), row));
  row.output = OutputOf(Member(arguments, "Concrete Inputs"));
  if (row.output.empty()) {
    return absl::InvalidArgumentError("no type of the output");
  }
  return row;
}

}  // namespace mansard::calibrate
