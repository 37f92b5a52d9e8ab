#include "calibrate/import/kernel_models.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibrate/import/cells.h"
#include "calibrate/tables/csv.h"
#include "model/base/format.h"
#include "model/base/status_macros.h"
#include "model/price/price.h"
#include "model/price/work_on_device.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::Op;
using Sizes = std::map<std::string, int64_t>;

constexpr int64_t kMostSize = int64_t{1} << 31;
constexpr int64_t kMostHeads = 65536;

Op AttentionOf(const Sizes& sizes, Format format, bool decodes) {
  const int64_t context = sizes.at("context_tokens");
  model::AttentionShape shape;
  shape.group.role = decodes ? model::Role::kDecode : model::Role::kPrefill;
  shape.group.request_count = sizes.at("requests");
  shape.group.new_tokens = decodes ? 1 : context;
  shape.group.prior_tokens = decodes ? context - 1 : 0;
  shape.query_heads = static_cast<int>(sizes.at("query_heads"));
  shape.kv_heads = static_cast<int>(sizes.at("kv_heads"));
  shape.head_size = static_cast<int>(sizes.at("head_size"));
  shape.input = model::IsLowPrecision(format) ? Format::kBf16 : format;
  shape.kv_cache = format;
  return model::AttentionOp(shape);
}

Op GemmOf(const Sizes& sizes, Format format, Format compute) {
  const auto batch = sizes.find("batch");
  return model::GemmOp(
      {sizes.at("m"), sizes.at("n"), sizes.at("k"),
       batch == sizes.end() ? 1 : batch->second, format, format,
       model::IsLowPrecision(format) ? Format::kBf16 : format, compute},
      false);
}

struct Kind {
  const char* name;
  std::vector<std::string> sizes;
  std::vector<std::string> optional;
};

const std::vector<Kind>& Kinds() {
  static const auto* const kKinds = new std::vector<Kind>{
      {"gemm", {"m", "n", "k"}, {"batch"}},
      {"norm", {"rows", "columns"}, {}},
      {"fused_norm", {"rows", "columns"}, {}},
      {"activation", {"rows", "columns"}, {}},
      {"residual", {"rows", "columns"}, {}},
      {"decode_attention",
       {"requests", "context_tokens", "query_heads", "kv_heads", "head_size"},
       {}},
      {"prefill_attention",
       {"requests", "context_tokens", "query_heads", "kv_heads", "head_size"},
       {}},
  };
  return *kKinds;
}

// The kind's op. Precondition: the sizes are the kind's.
Op MakeOp(const std::string& kind, const Sizes& sizes, Format format,
          Format compute) {
  if (kind == "gemm") return GemmOf(sizes, format, compute);
  if (kind == "decode_attention" || kind == "prefill_attention") {
    return AttentionOf(sizes, format, kind == "decode_attention");
  }
  const model::ElementwiseShape shape{sizes.at("rows"), sizes.at("columns"),
                                      format};
  if (kind == "norm") return model::NormOp(shape, false, format);
  if (kind == "fused_norm") return model::NormOp(shape, true, format);
  if (kind == "activation") return model::ActivationOp(shape, true);
  return model::ResidualOp(shape);
}

absl::Status Wrong(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("op \"", text, "\": ", what));
}

absl::Status CheckSizes(absl::string_view text, const Kind& kind,
                        const Sizes& sizes) {
  std::vector<std::string> wrong;
  for (const std::string& name : kind.sizes) {
    if (sizes.count(name) == 0) {
      wrong.push_back(absl::StrCat(name, " is missing"));
    }
  }
  for (const auto& [name, size] : sizes) {
    const bool known =
        std::count(kind.sizes.begin(), kind.sizes.end(), name) > 0 ||
        std::count(kind.optional.begin(), kind.optional.end(), name) > 0;
    const bool heads = absl::EndsWith(name, "heads") || name == "head_size";
    const int64_t most = heads ? kMostHeads : kMostSize;
    if (!known) {
      wrong.push_back(absl::StrCat(name, " is no size of ", kind.name));
    } else if (size < 1 || size > most) {
      wrong.push_back(
          absl::StrCat(name, " is ", size, "; allowed: 1 to ", most));
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return Wrong(text, absl::StrJoin(wrong, ", "));
}

absl::StatusOr<Op> ParseOp(absl::string_view text,
                           const model::Device& device) {
  const std::vector<std::string> words =
      absl::StrSplit(text, ' ', absl::SkipEmpty());
  const auto& kinds = Kinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&words](const Kind& one) {
        return !words.empty() && words[0] == one.name;
      });
  if (kind == kinds.end()) {
    return Wrong(
        text, absl::StrCat("is no kind; allowed: ",
                           absl::StrJoin(kinds, ", ",
                                         [](std::string* out, const Kind& one) {
                                           absl::StrAppend(out, one.name);
                                         })));
  }
  Format format = Format::kBf16;
  Sizes sizes;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string> pair = absl::StrSplit(words[i], '=');
    int64_t size = 0;
    if (pair.size() == 2 && absl::SimpleAtoi(pair[1], &size)) {
      sizes[pair[0]] = size;
      continue;
    }
    const std::optional<Format> named = model::ParseFormat(words[i]);
    if (!named.has_value()) {
      return Wrong(text,
                   absl::StrCat("\"", words[i], "\" is no size and no format (",
                                model::FormatNames(), ")"));
    }
    format = *named;
  }
  RETURN_IF_ERROR(CheckSizes(text, *kind, sizes));
  const auto compute = device.ComputeFor(format, format);
  if (kind->name == std::string("gemm") && !compute.has_value()) {
    return Wrong(text, absl::StrCat("the device computes in ",
                                    device.TensorFormatNames()));
  }
  return MakeOp(kind->name, sizes, format,
                compute.has_value() ? compute->format : format);
}

// What Price takes for granted.
bool IsServed(const Op& op, const model::HardwareView& view) {
  const std::optional<Format> format = model::TensorFormat(op);
  if (!format.has_value()) return true;
  return view.device.HasTensor(*format) &&
         (op.kind != model::OpKind::kGemm ||
          view.stack.GemmFor(*format) != nullptr);
}

std::string Ratio(const std::optional<double>& measured,
                  const std::optional<double>& predicted) {
  if (!measured.has_value() || predicted.value_or(0) <= 0) return "";
  return NumberCell(*measured / *predicted);
}

std::optional<double> Micro(const std::optional<double>& seconds) {
  if (!seconds.has_value()) return std::nullopt;
  return *seconds * 1e6;
}

}  // namespace

absl::StatusOr<std::vector<KernelOp>> ReadKernelOps(
    absl::string_view csv, const model::Device& device) {
  CsvReader reader(csv);
  ASSIGN_OR_RETURN(const size_t kernel, reader.Column("kernel"));
  ASSIGN_OR_RETURN(const size_t op, reader.Column("op"));
  std::vector<KernelOp> ops;
  std::vector<std::string> cells;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (!more) return ops;
    if (cells[kernel].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", ops.size() + 1, ": kernel is empty"));
    }
    ASSIGN_OR_RETURN(Op parsed, ParseOp(cells[op], device));
    ops.push_back({cells[kernel], cells[op], std::move(parsed)});
  }
}

absl::StatusOr<std::vector<JudgedKernel>> JudgeKernels(
    const std::vector<MeasuredKernel>& kernels,
    const std::vector<KernelOp>& ops, const model::HardwareProfile& profile,
    const model::KernelStack& stack) {
  const model::HardwareView view{profile.device(), profile.fabrics().front(),
                                 stack};
  std::vector<JudgedKernel> judged;
  for (const MeasuredKernel& kernel : kernels) {
    judged.push_back({.measured = kernel, .op = ""});
    const auto found =
        std::find_if(ops.begin(), ops.end(), [&kernel](const KernelOp& one) {
          return absl::StrContains(kernel.name, one.kernel);
        });
    if (found == ops.end()) continue;
    if (!IsServed(found->op, view)) {
      return Wrong(found->text, absl::StrCat("stack ", stack.spec().id,
                                             " does not serve it"));
    }
    const model::OpTime time = model::Price(found->op, view);
    judged.back().op = found->text;
    judged.back().model = {
        .seconds = time.estimate.value(),
        .tensor_flops = found->op.work.tensor.value(),
        .vector_flops = found->op.work.vector.value(),
        .hbm_bytes = time.traffic.hbm().value(),
        // What comes from memory passes through L2, which a profiler counts.
        .l2_bytes =
            std::max(time.traffic.l2.value(), time.traffic.hbm().value())};
  }
  return judged;
}

std::string KernelTable(const std::vector<JudgedKernel>& kernels) {
  std::string csv = CsvLine({"kernel", "grid", "block", "launches", "time_us",
                             "flops", "tensor_format", "hbm_bytes", "l2_bytes",
                             "l1_bytes", "op", "model_time_us", "model_flops",
                             "model_hbm_bytes", "model_l2_bytes", "time_ratio",
                             "flops_ratio", "hbm_ratio", "l2_ratio"});
  for (const JudgedKernel& kernel : kernels) {
    const KernelCounts& measured = kernel.measured.counts;
    const KernelCounts& predicted = kernel.model;
    absl::StrAppend(
        &csv,
        CsvLine({kernel.measured.name, kernel.measured.grid,
                 kernel.measured.block, absl::StrCat(kernel.measured.launches),
                 NumberCell(Micro(measured.seconds)),
                 NumberCell(measured.flops()), kernel.measured.tensor_format,
                 NumberCell(measured.hbm_bytes), NumberCell(measured.l2_bytes),
                 NumberCell(measured.l1_bytes), kernel.op,
                 NumberCell(Micro(predicted.seconds)),
                 NumberCell(predicted.flops()), NumberCell(predicted.hbm_bytes),
                 NumberCell(predicted.l2_bytes),
                 Ratio(measured.seconds, predicted.seconds),
                 Ratio(measured.flops(), predicted.flops()),
                 Ratio(measured.hbm_bytes, predicted.hbm_bytes),
                 Ratio(measured.l2_bytes, predicted.l2_bytes)}));
  }
  return csv;
}

}  // namespace mansard::calibrate
