#include "calibrate/fit/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/tables/names.h"
#include "model/ops/op.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::HardwareProfile;
using model::KernelStack;
using model::Seconds;
using model::TraitsOf;

struct Answer {
  Seconds estimate;
  Seconds p10;
  Seconds p90;
  Seconds roofline;
  model::Tier tier = model::Tier::kCalibrated;  // The weakest of its ops'.
};

// Ops of one row: its product, and what quantises its input before.
model::OpList OpsOf(const GemmRow& row, const RowFormats& formats,
                    Format compute) {
  model::OpList ops;
  if (formats.quantizes) {
    ops.push_back(
        model::QuantizeOp({row.m, row.k, formats.output}, formats.input));
  }
  ops.push_back(model::GemmOp({row.m, row.n, row.k, row.batch, formats.input,
                               formats.weights, formats.output, compute},
                              false));
  return ops;
}

// Empty where the device has no unit for the formats or the stack no family.
std::optional<Answer> AnswerOf(const GemmRow& row,
                               const HardwareProfile& profile,
                               const KernelStack& stack) {
  const std::optional<RowFormats> formats = FormatsOf(row);
  if (!formats) return std::nullopt;
  const model::Device& device = profile.device();
  const auto compute = device.ComputeFor(formats->weights, formats->input);
  if (!compute || stack.GemmFor(compute->format) == nullptr) {
    return std::nullopt;
  }
  Answer answer;
  const model::HardwareView view{device, profile.fabrics().front(), stack};
  for (const model::Op& op : OpsOf(row, *formats, compute->format)) {
    const model::OpTime time = model::Price(op, view);
    answer.estimate += time.estimate;
    answer.p10 += time.p10;
    answer.p90 += time.p90;
    answer.tier = std::min(answer.tier, time.tier);
    const model::Bytes moved = op.work.weights + op.work.activations();
    answer.roofline += Max(time.tensor_at_peak, moved / device.HbmBandwidth());
  }
  return answer;
}

class ErrorSums {
 public:
  void Add(Seconds measured, Seconds predicted, bool in_range) {
    const double error = predicted / measured - 1;
    sizes_.push_back(std::abs(error));
    bias_ += error;
    in_range_ += in_range ? 1 : 0;
  }

  Errors Result() {
    Errors errors;
    errors.rows = sizes_.size();
    if (sizes_.empty()) return errors;
    std::sort(sizes_.begin(), sizes_.end());
    const double count = static_cast<double>(sizes_.size());
    for (double size : sizes_) errors.mean += size / count;
    errors.median = sizes_[sizes_.size() / 2];
    errors.p90 = sizes_[sizes_.size() * 9 / 10];
    errors.bias = bias_ / count;
    errors.in_range = in_range_ / count;
    return errors;
  }

 private:
  std::vector<double> sizes_;
  double bias_ = 0;
  double in_range_ = 0;
};

struct Group {
  Judgement judgement;
  ErrorSums all;
  ErrorSums large;
  ErrorSums large_roofline;
};

std::string FormatsText(const GemmRow& row) {
  const std::optional<RowFormats> formats = FormatsOf(row);
  if (!formats) {
    return absl::StrCat(row.input_format, " ", row.quantization, " ",
                        row.scope);
  }
  std::string text(TraitsOf(formats->input).name);
  if (formats->weights != formats->input) {
    absl::StrAppend(&text, " x ", TraitsOf(formats->weights).name);
  }
  if (formats->quantizes) absl::StrAppend(&text, " + quantize");
  return text;
}

// Where a row is asked; null profile: the device is not in the catalog.
struct Place {
  const HardwareProfile* profile = nullptr;
  const KernelStack* stack = nullptr;
};

absl::StatusOr<Place> PlaceOf(const GemmRow& row,
                              const model::ShippedData& data,
                              const ValidateOptions& options) {
  const std::string hardware = options.hardware.empty()
                                   ? std::string(HardwareId(row.device))
                                   : options.hardware;
  const auto profile = data.profiles.find(hardware);
  if (profile == data.profiles.end()) {
    if (options.hardware.empty()) return Place{};
    return absl::InvalidArgumentError(
        absl::StrCat("hardware: \"", hardware, "\" is not in the catalog"));
  }
  Place place{profile->second.get(), profile->second->FindStack("")};
  if (options.spec_tier) return place;
  const std::string wanted = options.stack.empty()
                                 ? StackId(row.framework, row.version)
                                 : options.stack;
  const KernelStack* stack = place.profile->FindStack(wanted);
  if (stack != nullptr) {
    place.stack = stack;
  } else if (!options.stack.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("stack: ", hardware, " has no \"", options.stack, "\""));
  }
  return place;
}

void Judge(const GemmRow& row, const Place& place, Group& group) {
  ++group.judgement.rows;
  if (place.profile == nullptr) return;
  const std::optional<Answer> answer =
      AnswerOf(row, *place.profile, *place.stack);
  if (!answer) return;
  ++group.judgement.answered;
  group.judgement.stack = place.stack->spec().id;
  group.judgement.tier = answer->tier;
  const bool in_range = answer->p10 <= row.time && row.time <= answer->p90;
  group.all.Add(row.time, answer->estimate, in_range);
  if (row.n < kLargeSide || row.k < kLargeSide) return;
  group.large.Add(row.time, answer->estimate, in_range);
  group.large_roofline.Add(row.time, answer->roofline, false);
}

}  // namespace

absl::StatusOr<std::vector<Judgement>> Validate(
    const std::vector<GemmRow>& rows, const model::ShippedData& data,
    const ValidateOptions& options) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>,
           Group>
      groups;
  for (const GemmRow& row : rows) {
    if (!row.flag.empty()) continue;
    if (!options.fitted_rows && SideOf({row.m, row.n, row.k}) == Side::kFitted) {
      continue;
    }
    const absl::StatusOr<Place> place = PlaceOf(row, data, options);
    if (!place.ok()) return place.status();
    const std::string formats = FormatsText(row);
    Group& group = groups[std::make_tuple(row.device, formats, row.framework,
                                          row.version)];
    if (group.judgement.rows == 0) {
      group.judgement.device = row.device;
      group.judgement.framework = row.framework;
      group.judgement.version = row.version;
      group.judgement.formats = formats;
    }
    Judge(row, *place, group);
  }
  std::vector<Judgement> judgements;
  for (auto& [key, group] : groups) {
    group.judgement.all = group.all.Result();
    group.judgement.large = group.large.Result();
    group.judgement.large_roofline = group.large_roofline.Result();
    judgements.push_back(std::move(group.judgement));
  }
  return judgements;
}

}  // namespace mansard::calibrate
