#include "calibrate/tables/gemm_cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/tables/names.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr int64_t kTargetSide = 512;

struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
};

std::optional<model::OpList> OpsOf(const Product& product,
                                   const RowFormats& formats,
                                   const model::Device& device,
                                   const model::KernelStack& stack) {
  const auto compute = device.ComputeFor(formats.weights, formats.input);
  if (!compute || stack.GemmFor(compute->format) == nullptr) {
    return std::nullopt;
  }
  model::OpList ops;
  if (formats.quantizes) {
    ops.push_back(model::QuantizeOp(
        {product.batch * product.m, product.k, formats.output}, formats.input));
  }
  ops.push_back(model::GemmOp(
      {product.m, product.n, product.k, product.batch, formats.input,
       formats.weights, formats.output, compute->format},
      false));
  return ops;
}

MeasuredCase CaseOf(const Table& table, const Product& product) {
  MeasuredCase measured = table.CommonCase();
  measured.side = SideOf({product.m, product.n, product.k});
  measured.size = 2.0 * static_cast<double>(product.batch) *
                  static_cast<double>(product.m) *
                  static_cast<double>(product.n) *
                  static_cast<double>(product.k);
  measured.in_target = std::min(product.n, product.k) >= kTargetSide;
  measured.shape = absl::StrCat(
      product.batch == 1 ? "" : absl::StrCat("batch=", product.batch, " "),
      "m=", product.m, " n=", product.n, " k=", product.k);
  const FormatNames names{table.text("dtype_in"), table.text("dtype_weight"),
                          table.text("dtype_out"), table.text("quant"),
                          table.text("scope")};
  const std::optional<RowFormats> formats = FormatsOf(names);
  if (!formats) {
    measured.slice = absl::StrCat(names.input, " x ", names.weights, " ",
                                  names.quantization, " ", names.scope);
    measured.ops = [](const model::Device&, const model::KernelStack&)
        -> std::optional<model::OpList> { return std::nullopt; };
    return measured;
  }
  measured.slice = FormatsText(*formats);
  measured.ops = [product, formats = *formats](
                     const model::Device& device,
                     const model::KernelStack& stack) {
    return OpsOf(product, formats, device, stack);
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadGemmCases(absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv,
                  {"device", "dtype_in", "dtype_weight", "dtype_out", "quant",
                   "framework", "framework_version", "scope", "source", "flag",
                   "batch", "m", "n", "k", "latency_us"}));
  std::vector<MeasuredCase> cases;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return cases;
    const Product product{table.count("m"), table.count("n"), table.count("k"),
                          table.count("batch")};
    if (std::min({product.m, product.n, product.k, product.batch}) <= 0 ||
        table.number("latency_us") <= 0) {
      continue;
    }
    cases.push_back(CaseOf(table, product));
  }
}

}  // namespace mansard::calibrate
