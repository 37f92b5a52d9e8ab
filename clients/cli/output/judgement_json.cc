#include "absl/strings/str_cat.h"
#include "clients/cli/output/judgement_text.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace mansard::cli {
namespace {

using calibrate::Errors;
using calibrate::Judgement;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void Write(const char* key, const std::string& value, Writer& writer) {
  writer.Key(key);
  writer.String(value.c_str());
}

void Write(const char* key, size_t value, Writer& writer) {
  writer.Key(key);
  writer.Uint64(value);
}

void Write(const char* key, double value, Writer& writer) {
  writer.Key(key);
  writer.Double(value);
}

// The members of an object.
void WriteErrors(const Errors& errors, Writer& writer) {
  Write("row_count", errors.rows, writer);
  if (errors.rows == 0) return;
  Write("mean_ratio", errors.mean, writer);
  Write("median_ratio", errors.median, writer);
  Write("p90_ratio", errors.p90, writer);
  Write("bias_ratio", errors.bias, writer);
}

void WriteErrors(const char* key, const Errors& errors, bool roofline,
                 Writer& writer) {
  writer.Key(key);
  writer.StartObject();
  WriteErrors(errors, writer);
  if (!roofline && errors.rows > 0) {
    Write("in_range_ratio", errors.in_range, writer);
  }
  writer.EndObject();
}

void WriteGroup(const Judgement& one, Writer& writer) {
  Write("table", one.table, writer);
  Write("device", one.device, writer);
  Write("framework", one.framework, writer);
  Write("framework_version", one.version, writer);
  Write("slice", one.slice, writer);
  if (one.answered > 0) {
    Write("stack", one.stack, writer);
    Write("tier", std::string(TierName(one.tier)), writer);
  }
  if (one.target.has_value()) {
    writer.Key("target");
    writer.StartObject();
    Write("statistic", std::string(one.target->of_median ? "median" : "mean"),
          writer);
    Write("ratio", one.target->error, writer);
    writer.EndObject();
  }
  Write("row_count", one.rows, writer);
  Write("answered_count", one.answered, writer);
  writer.Key("unanswered");
  writer.StartArray();
  for (size_t i = 0; i < one.unanswered.size(); ++i) {
    if (one.unanswered[i] == 0) continue;
    writer.StartObject();
    Write("reason",
          std::string(UnansweredText(static_cast<calibrate::Unanswered>(i))),
          writer);
    Write("row_count", one.unanswered[i], writer);
    writer.EndObject();
  }
  writer.EndArray();
}

void WriteDeciles(const Judgement& one, Writer& writer) {
  writer.Key("deciles");
  writer.StartArray();
  for (const calibrate::Decile& decile : one.deciles) {
    writer.StartObject();
    Write("least_size", decile.from, writer);
    Write("largest_size", decile.to, writer);
    WriteErrors(decile.errors, writer);
    Write("in_range_ratio", decile.errors.in_range, writer);
    writer.EndObject();
  }
  writer.EndArray();
}

void WriteWorst(const Judgement& one, Writer& writer) {
  writer.Key("worst_rows");
  writer.StartArray();
  for (const calibrate::WorstRow& row : one.worst) {
    writer.StartObject();
    Write("row", row.row, writer);
    Write("shape", row.shape, writer);
    Write("measured_seconds", row.measured.value(), writer);
    Write("predicted_seconds", row.predicted.value(), writer);
    writer.Key("in_target");
    writer.Bool(row.in_target);
    writer.EndObject();
  }
  writer.EndArray();
}

}  // namespace

std::string JudgementsJson(const std::vector<Judgement>& judgements) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 1);
  writer.StartObject();
  writer.Key("judgements");
  writer.StartArray();
  for (const Judgement& one : judgements) {
    writer.StartObject();
    WriteGroup(one, writer);
    WriteErrors("in_target", one.in_target, false, writer);
    WriteErrors("in_target_roofline", one.in_target_roofline, true, writer);
    WriteErrors("all", one.all, false, writer);
    WriteErrors("all_roofline", one.all_roofline, true, writer);
    WriteDeciles(one, writer);
    WriteWorst(one, writer);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return absl::StrCat(buffer.GetString(), "\n");
}

}  // namespace mansard::cli
