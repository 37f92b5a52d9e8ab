#include "clients/cli/output/import_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "clients/cli/output/proto_text.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace mansard::cli {
namespace {

// Longest text of a flag or value that people see whole.
constexpr size_t kMaxShown = 20;

Cell Shortened(const std::string& text) {
  if (text.size() <= kMaxShown) return Text(text);
  return ShownAs(Text(text),
                 absl::StrCat(text.substr(0, kMaxShown - 3), "..."));
}

// The end of a dotted name tells more than its beginning.
Cell ShortenedFlag(const std::string& text) {
  constexpr size_t kMax = 32;
  if (text.size() <= kMax) return Text(text);
  return ShownAs(Text(text),
                 absl::StrCat("...", text.substr(text.size() + 3 - kMax)));
}

Tone ToneOf(importing::Fate fate) {
  switch (fate) {
    case importing::Fate::kEngine:
    case importing::Fate::kDefault:
    case importing::Fate::kRequest:
      return Tone::kPlain;
    case importing::Fate::kNotModeled:
    case importing::Fate::kUnknown:
      return Tone::kBad;
    case importing::Fate::kNoEffect:
      return Tone::kFaint;
  }
  return Tone::kPlain;
}

}  // namespace

Report FlagsReport(const std::vector<importing::FlagRow>& rows) {
  Report report{{{"flag", Unit::kNone, Align::kLeft},
                 {"value", Unit::kNone, Align::kLeft},
                 {"fate", Unit::kNone, Align::kLeft},
                 {"becomes", Unit::kNone, Align::kLeft}},
                {}};
  for (const importing::FlagRow& row : rows) {
    report.rows.push_back({ShortenedFlag(row.flag),
                           row.value.empty() ? Cell() : Shortened(row.value),
                           Text(FateWord(row.fate), ToneOf(row.fate)),
                           row.becomes.empty() ? Cell() : Text(row.becomes)});
  }
  return report;
}

absl::StatusOr<std::string> ImportJson(
    const v1::Engine& engine, const std::vector<importing::FlagRow>& rows) {
  absl::StatusOr<std::string> json = JsonText(engine);
  if (!json.ok()) return json.status();
  absl::string_view text = *json;
  absl::ConsumeSuffix(&text, "\n");
  const std::string indented = absl::StrReplaceAll(text, {{"\n", "\n "}});
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 1);
  const auto write = [&writer](const char* key, absl::string_view value) {
    writer.Key(key);
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  writer.Key("engine");
  writer.RawValue(indented.data(), indented.size(), rapidjson::kObjectType);
  writer.Key("flags");
  writer.StartArray();
  for (const importing::FlagRow& row : rows) {
    writer.StartObject();
    write("flag", row.flag);
    write("value", row.value);
    write("fate", FateWord(row.fate));
    write("becomes", row.becomes);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return absl::StrCat(buffer.GetString(), "\n");
}

}  // namespace mansard::cli
