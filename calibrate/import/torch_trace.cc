#include "calibrate/import/torch_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "calibrate/import/json_text.h"
#include "calibrate/import/torch_products.h"
#include "calibrate/measure/statistics.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr char kFramework[] = "torch.profiler";
constexpr size_t kFewCalls = 3;
constexpr double kWideSpread = 0.2;

// A call, and what its kernels took.
struct Call {
  GemmRow product;
  double seconds = 0;
  double longest = 0;  // Of its kernels, whose name the row has.
  std::string kernel;
};

// Whole, and within what a double holds exactly.
std::optional<int64_t> IdOf(const rapidjson::Value* arguments,
                            const char* name) {
  if (arguments == nullptr) return std::nullopt;
  const std::optional<double> id = NumberOf(Member(*arguments, name));
  if (!id.has_value() || !(*id >= 0) || !(*id < 9e15)) return std::nullopt;
  return static_cast<int64_t>(*id);
}

class Trace {
 public:
  absl::Status Read(const rapidjson::Document& document) {
    RETURN_IF_ERROR(ReadDevices(document));
    const rapidjson::Value* events =
        document.IsArray() ? &document : Member(document, "traceEvents");
    if (events == nullptr || !events->IsArray()) {
      return absl::InvalidArgumentError("has no list traceEvents");
    }
    // Launches and calls may stand after their kernels.
    for (const rapidjson::Value& event : events->GetArray()) ReadHost(event);
    for (const rapidjson::Value& event : events->GetArray()) ReadKernel(event);
    if (kernels_ == 0) {
      return absl::InvalidArgumentError(
          "has no kernel of a device; record ProfilerActivity.CUDA, too");
    }
    if (!has_shapes_) {
      return absl::InvalidArgumentError(
          "has no shapes (\"Input Dims\"); record with record_shapes=True");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Imported> Table(const RowContext& context) {
    std::vector<GemmRow> rows = Rows();
    if (rows.empty()) {
      std::string why;
      for (const auto& [reason, count] : left_out_) {
        absl::StrAppend(&why, "; ", Counted(count, "call"), ": ", reason);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("has no call of a product to take", why));
    }
    Imported imported;
    imported.text = GemmTable(rows, context, kFramework);
    for (const auto& [reason, count] : left_out_) {
      imported.notes.push_back(
          absl::StrCat(Counted(count, "call"), " left out: ", reason));
    }
    const auto flagged =
        std::count_if(rows.begin(), rows.end(),
                      [](const GemmRow& row) { return !row.flag.empty(); });
    imported.notes.push_back(absl::StrCat(
        Counted(rows.size(), "shape"), ", ", flagged,
        " flagged, which fits leave out; times of a trace are coarse",
        device_.empty() ? "" : absl::StrCat("; of ", device_)));
    return imported;
  }

 private:
  absl::Status ReadDevices(const rapidjson::Document& document) {
    const rapidjson::Value* devices = Member(document, "deviceProperties");
    if (devices == nullptr || !devices->IsArray()) return absl::OkStatus();
    for (const rapidjson::Value& device : devices->GetArray()) {
      const std::string name(TextOf(Member(device, "name")));
      if (!device_.empty() && name != device_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "is of several kinds of device: ", device_, " and ", name));
      }
      device_ = name;
    }
    return absl::OkStatus();
  }

  void ReadHost(const rapidjson::Value& event) {
    const rapidjson::Value* arguments = Member(event, "args");
    const std::optional<int64_t> id = IdOf(arguments, "External id");
    if (!id.has_value()) return;
    const std::string category =
        absl::AsciiStrToLower(TextOf(Member(event, "cat")));
    // "Runtime" and "Operator" in traces of before 2022.
    if (category == "cuda_runtime" || category == "cuda_driver" ||
        category == "runtime") {
      const std::optional<int64_t> launch = IdOf(arguments, "correlation");
      if (launch.has_value()) launched_by_[*launch] = *id;
      return;
    }
    if (category != "cpu_op" && category != "operator") return;
    has_shapes_ = has_shapes_ || Member(*arguments, "Input Dims") != nullptr;
    const absl::string_view name = TextOf(Member(event, "name"));
    if (!IsProduct(name)) return;
    absl::StatusOr<GemmRow> product = ProductOf(name, *arguments);
    if (!product.ok()) {
      ++left_out_[absl::StrCat(name, ": ", product.status().message())];
      return;
    }
    calls_[*id].product = *std::move(product);
  }

  void ReadKernel(const rapidjson::Value& event) {
    if (absl::AsciiStrToLower(TextOf(Member(event, "cat"))) != "kernel") return;
    ++kernels_;
    const rapidjson::Value* arguments = Member(event, "args");
    const std::optional<double> microseconds = NumberOf(Member(event, "dur"));
    if (!microseconds.has_value() || !(*microseconds > 0)) return;
    std::optional<int64_t> id = IdOf(arguments, "External id");
    if (!id.has_value() || calls_.count(*id) == 0) {
      const std::optional<int64_t> launch = IdOf(arguments, "correlation");
      const auto by =
          launch.has_value() ? launched_by_.find(*launch) : launched_by_.end();
      if (by == launched_by_.end()) return;
      id = by->second;
    }
    const auto found = calls_.find(*id);
    if (found == calls_.end()) return;
    Call& call = found->second;
    call.seconds += *microseconds * 1e-6;
    if (*microseconds > call.longest) {
      call.longest = *microseconds;
      call.kernel = std::string(TextOf(Member(event, "name")));
    }
  }

  // By shape and formats.
  std::vector<GemmRow> Rows() {
    std::map<std::tuple<std::string, std::string, std::string, std::string,
                        int64_t, int64_t, int64_t, int64_t>,
             std::vector<const Call*>>
        shapes;
    for (const auto& [id, call] : calls_) {
      if (call.seconds <= 0) {
        ++left_out_["no kernel of theirs, as in a replayed graph"];
        continue;
      }
      const GemmRow& row = call.product;
      shapes[{row.input, row.weights, row.output, row.quantization, row.batch,
              row.m, row.n, row.k}]
          .push_back(&call);
    }
    std::vector<GemmRow> rows;
    for (const auto& [shape, calls] : shapes) rows.push_back(RowOf(calls));
    return rows;
  }

  static GemmRow RowOf(const std::vector<const Call*>& calls) {
    std::vector<double> seconds;
    for (const Call* call : calls) seconds.push_back(call->seconds);
    std::sort(seconds.begin(), seconds.end());
    GemmRow row = calls.front()->product;
    row.seconds = Median(seconds);
    row.kernel = calls.front()->kernel;
    const double spread =
        (seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4]) /
        row.seconds;
    if (calls.size() < kFewCalls) {
      row.flag = "few calls";
    } else if (spread > kWideSpread) {
      row.flag = "calls differ";
    }
    row.quality =
        absl::StrCat("coarse: median of ", Counted(calls.size(), "call"));
    return row;
  }

  std::string device_;
  std::map<int64_t, Call> calls_;           // By external id.
  std::map<int64_t, int64_t> launched_by_;  // Correlation -> external id.
  size_t kernels_ = 0;
  bool has_shapes_ = false;
  std::map<std::string, size_t> left_out_;
};

}  // namespace

absl::StatusOr<Imported> ImportTorchTrace(absl::string_view text,
                                          const RowContext& context) {
  RETURN_IF_ERROR(CheckContext(context, /*needs_link=*/false));
  ASSIGN_OR_RETURN(const rapidjson::Document document, ParseToolJson(text));
  Trace trace;
  RETURN_IF_ERROR(trace.Read(document));
  return trace.Table(context);
}

}  // namespace mansard::calibrate
