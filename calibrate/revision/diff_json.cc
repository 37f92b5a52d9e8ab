#include <optional>

#include "calibrate/revision/diff_text.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace mansard::calibrate {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void String(Writer& writer, const char* key, absl::string_view text) {
  writer.Key(key);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Number(Writer& writer, const char* key,
            const std::optional<double>& number) {
  writer.Key(key);
  if (number.has_value()) {
    writer.Double(*number);
  } else {
    writer.Null();
  }
}

void Texts(Writer& writer, const char* key,
           const std::vector<std::string>& texts) {
  writer.Key(key);
  writer.StartArray();
  for (const std::string& text : texts) writer.String(text.c_str());
  writer.EndArray();
}

void Side(Writer& writer, const char* key,
          const std::optional<RevisionNumber>& number) {
  writer.Key(key);
  if (!number.has_value()) {
    writer.Null();
    return;
  }
  writer.StartObject();
  Number(writer, "value", number->value);
  Number(writer, "p10", number->low);
  Number(writer, "p90", number->high);
  String(writer, "provenance", number->provenance);
  writer.EndObject();
}

void Change(Writer& writer, const NumberChange& change) {
  writer.StartObject();
  String(writer, "name", change.name);
  Side(writer, "a", change.a);
  Side(writer, "b", change.b);
  Number(writer, "percent", change.percent());
  writer.Key("intervals_overlap");
  const std::optional<bool> overlap = change.overlap();
  if (overlap.has_value()) {
    writer.Bool(*overlap);
  } else {
    writer.Null();
  }
  writer.EndObject();
}

void Changes(Writer& writer, const char* key,
             const std::vector<NumberChange>& changes) {
  writer.Key(key);
  writer.StartArray();
  for (const NumberChange& change : changes) Change(writer, change);
  writer.EndArray();
}

void Family(Writer& writer, const FamilyChange& family) {
  writer.StartObject();
  String(writer, "stack", family.stack);
  String(writer, "family", family.family);
  String(writer, "change",
         !family.in_a   ? "added"
         : !family.in_b ? "removed"
                        : "changed");
  writer.Key("residual");
  if (family.residual.has_value()) {
    Change(writer, *family.residual);
  } else {
    writer.Null();
  }
  String(writer, "tier_a", family.tier_a);
  String(writer, "tier_b", family.tier_b);
  String(writer, "formula_a", family.formula_a);
  String(writer, "formula_b", family.formula_b);
  Changes(writer, "parameters", family.parameters);
  writer.EndObject();
}

void Step(Writer& writer, const StepChange& step) {
  writer.StartObject();
  String(writer, "stack", step.stack);
  String(writer, "step", step.step);
  Number(writer, "a_seconds", step.a_seconds);
  Number(writer, "b_seconds", step.b_seconds);
  writer.EndObject();
}

}  // namespace

std::string DiffJson(absl::string_view a, absl::string_view b,
                     const RevisionDiff& diff,
                     const std::vector<StepChange>& steps) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 2);
  writer.StartObject();
  String(writer, "a", a);
  String(writer, "b", b);
  Texts(writer, "added_stacks", diff.added_stacks);
  Texts(writer, "removed_stacks", diff.removed_stacks);
  Changes(writer, "device", diff.device);
  writer.Key("families");
  writer.StartArray();
  for (const FamilyChange& family : diff.families) Family(writer, family);
  writer.EndArray();
  Texts(writer, "other", diff.other);
  writer.Key("steps");
  writer.StartArray();
  for (const StepChange& step : steps) Step(writer, step);
  writer.EndArray();
  writer.EndObject();
  std::string text = buffer.GetString();
  text += "\n";
  return text;
}

}  // namespace mansard::calibrate
