#include "calibrate/tables/exchange_cases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::ExchangeKernels;
using model::ExchangeShape;
using model::Format;
using model::LinkTier;

// fp8 goes with a scale for every 128 of its elements, 3 % more bytes, which
// the fitted rates hold.
std::optional<Format> FormatNamed(absl::string_view type) {
  if (type == "fp8") return Format::kFp8Block;
  if (type == "bf16") return Format::kBf16;
  return std::nullopt;
}

std::optional<ExchangeKernels> KernelsNamed(absl::string_view mode) {
  if (mode == "low_latency") return ExchangeKernels::kLowLatency;
  if (mode == "normal") return ExchangeKernels::kThroughput;
  return std::nullopt;
}

// "via SGLang 0.5.12": who measured the library, and its version.
void NameFramework(const Table& table, MeasuredCase& measured) {
  measured.framework = table.text("library");
  measured.version = table.text("library_version");
  absl::string_view version = measured.version;
  if (!absl::ConsumePrefix(&version, "via ")) return;
  const std::vector<std::string> words = absl::StrSplit(version, ' ');
  if (words.size() != 2) return;
  measured.framework = words[0];
  measured.version = words[1];
}

// Empty where the row's columns are none of ours.
std::optional<ExchangeShape> ShapeOf(const Table& table) {
  const std::optional<Format> format = FormatNamed(table.text("dtype"));
  const std::optional<ExchangeKernels> kernels =
      KernelsNamed(table.text("mode"));
  const int64_t ranks = table.count("n_gpus");
  const int64_t nodes = table.count("n_nodes");
  const int64_t tokens = table.count("tokens_per_gpu");
  const int64_t hidden = table.count("hidden");
  const int64_t experts = table.count("topk");
  if (!format || !kernels || nodes < 1 || ranks < 2 || ranks % nodes != 0 ||
      std::min({tokens, hidden, experts}) < 1) {
    return std::nullopt;
  }
  ExchangeShape shape;
  shape.ranks = static_cast<int>(ranks);
  shape.node_ranks = static_cast<int>(ranks / nodes);
  shape.tier = nodes > 1 ? LinkTier::kRdma : LinkTier::kNvlink;
  shape.tokens = static_cast<double>(tokens);
  shape.experts_per_token = static_cast<int>(experts);
  shape.columns = hidden;
  shape.format = *format;
  shape.experts = static_cast<int>(table.count("num_experts"));
  shape.multiprocessors = static_cast<int>(table.count("comm_sms"));
  shape.kernels = *kernels;
  return shape;
}

// Some exchange family, or all-to-alls.
bool Serves(const model::KernelStackSpec& stack, const ExchangeShape& shape,
            bool dispatch) {
  const size_t tier = static_cast<size_t>(shape.tier);
  const model::FineFamilies& fine = stack.fine;
  const auto& many = dispatch ? fine.expert_dispatch : fine.expert_combine;
  const auto& few = dispatch ? fine.expert_dispatch_low_latency
                             : fine.expert_combine_low_latency;
  return many.For(tier) != nullptr || few.For(tier) != nullptr ||
         fine.all_to_all.For(tier) != nullptr ||
         stack.collectives[tier].has_value();
}

MeasuredCase CaseOf(const Table& table, const ExchangeShape& shape,
                    bool dispatch) {
  MeasuredCase measured = table.CommonCase();
  NameFramework(table, measured);
  const int64_t tokens = table.count("tokens_per_gpu");
  measured.side =
      SideOf({shape.ranks, shape.nodes(), tokens, shape.columns,
              shape.experts_per_token, shape.experts, shape.multiprocessors});
  const double elements = shape.tokens * shape.experts_per_token *
                          static_cast<double>(shape.columns);
  measured.size = model::ElementBytes(shape.format, elements).value();
  measured.slice = absl::StrCat(
      dispatch ? "expert_dispatch" : "expert_combine",
      shape.kernels == ExchangeKernels::kLowLatency ? "_low_latency" : "", " ",
      model::LinkTierName(shape.tier), " x", shape.ranks,
      shape.nodes() > 1 ? absl::StrCat("/", shape.nodes()) : "");
  measured.shape =
      absl::StrCat("tokens=", tokens, " hidden=", shape.columns,
                   " topk=", shape.experts_per_token,
                   " experts=", shape.experts, " sms=", shape.multiprocessors);
  measured.ops =
      [shape, dispatch](
          const model::Device&,
          const model::KernelStack& stack) -> std::optional<model::OpList> {
    if (!Serves(stack.spec(), shape, dispatch)) return std::nullopt;
    return model::OpList{dispatch ? model::ExpertDispatchOp(shape)
                                  : model::ExpertCombineOp(shape)};
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadExchangeCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(
          csv, {"device", "link", "op", "mode", "dtype", "n_gpus", "n_nodes",
                "tokens_per_gpu", "hidden", "topk", "num_experts", "comm_sms",
                "latency_us", "library", "library_version", "source"}));
  std::vector<MeasuredCase> cases;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return cases;
    const bool dispatch = table.text("op") == "dispatch";
    const std::optional<ExchangeShape> shape = ShapeOf(table);
    if (!shape || (!dispatch && table.text("op") != "combine") ||
        table.number("latency_us") <= 0) {
      continue;
    }
    cases.push_back(CaseOf(table, *shape, dispatch));
  }
}

}  // namespace mansard::calibrate
