#include "model/io/format_io.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "model/io/sourced_io.h"

namespace mansard::model {

std::optional<Format> FormatFromProto(absl::string_view name,
                                      absl::string_view field,
                                      Violations& violations) {
  if (name.empty()) return std::nullopt;
  const std::optional<Format> format = ParseFormat(name);
  if (!format) {
    violations.Add(
        field,
        absl::StrCat("\"", name, "\" is unknown; known: ", FormatNames()));
  }
  return format;
}

std::optional<LinearClass> LinearClassFromProto(
    const v1::LinearPrecision& proto, Violations& violations) {
  if (proto.linear_class().empty()) {
    AddRequired("linear_class", violations);
    return std::nullopt;
  }
  const std::optional<LinearClass> linear =
      ParseLinearClass(proto.linear_class());
  if (!linear.has_value()) {
    violations.Add("linear_class",
                   absl::StrCat("\"", proto.linear_class(),
                                "\" is unknown; known: ", LinearClassNames()));
  }
  return linear;
}

std::vector<LinearFormats> LinearFormatsFromProto(const LinearPrecisions& proto,
                                                  Violations& violations) {
  std::vector<LinearFormats> all;
  for (int i = 0; i < proto.size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("formats", static_cast<size_t>(i)));
    const auto read = [&](const std::string& name, absl::string_view field) {
      if (name.empty()) AddRequired(field, violations);
      return FormatFromProto(name, field, violations);
    };
    const auto linear = LinearClassFromProto(proto.Get(i), violations);
    const auto weights = read(proto.Get(i).weights(), "weights");
    const auto activations = read(proto.Get(i).activations(), "activations");
    if (linear && weights && activations) {
      all.push_back({*linear, *weights, *activations});
    }
  }
  return all;
}

void LinearFormatsToProto(const std::vector<LinearFormats>& formats,
                          LinearPrecisions& proto) {
  for (const LinearFormats& row : formats) {
    v1::LinearPrecision& entry = *proto.Add();
    entry.set_linear_class(std::string(LinearClassName(row.linear)));
    entry.set_weights(std::string(TraitsOf(row.weights).name));
    entry.set_activations(std::string(TraitsOf(row.activations).name));
  }
}

}  // namespace mansard::model
