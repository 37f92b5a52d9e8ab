#include "model/base/violations.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

// Whole numbers without exponent or decimals, others in short form.
std::string Number(double value) {
  // Range first: the conversion of anything larger is undefined.
  if (value < 1e15 && value > -1e15 &&
      value == static_cast<double>(static_cast<long long>(value))) {
    return absl::StrCat(static_cast<long long>(value));
  }
  return absl::StrFormat("%g", value);
}

}  // namespace

void Violations::Add(absl::string_view field, absl::string_view description) {
  std::string full = path_;
  if (!field.empty()) {
    absl::StrAppend(&full, full.empty() ? "" : ".", field);
  }
  violations_.push_back({std::move(full), std::string(description)});
}

bool Violations::CheckRange(absl::string_view field, double value,
                            double minimum, double maximum) {
  // The negation also catches NaN.
  if (!(value >= minimum && value <= maximum)) {
    Add(field, absl::StrCat("is ", Number(value), "; allowed: ",
                            Number(minimum), " to ", Number(maximum)));
    return false;
  }
  return true;
}

absl::Status Violations::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::string message;
  for (const Violation& violation : violations_) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", violation.field,
                    violation.field.empty() ? "" : ": ", violation.description);
  }
  return absl::InvalidArgumentError(message);
}

Violations::Scope::Scope(Violations& violations, absl::string_view path)
    : violations_(violations), parent_length_(violations.path_.size()) {
  std::string& whole = violations_.path_;
  if (!whole.empty()) whole.push_back('.');
  whole.append(path.data(), path.size());
}

Violations::Scope::~Scope() { violations_.path_.resize(parent_length_); }

std::string Indexed(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

}  // namespace mansard::model
