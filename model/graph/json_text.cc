#include "model/graph/json_text.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "model/graph/json_flags.h"

namespace mansard::model {
namespace {

// Stops at the first bracket beyond the allowed depth.
class DepthGuard
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DepthGuard> {
 public:
  explicit DepthGuard(int max_depth) : max_depth_(max_depth) {}
  bool StartObject() { return ++depth_ <= max_depth_; }
  bool StartArray() { return ++depth_ <= max_depth_; }
  bool EndObject(rapidjson::SizeType) { return --depth_ >= 0; }
  bool EndArray(rapidjson::SizeType) { return --depth_ >= 0; }

 private:
  int max_depth_;
  int depth_ = 0;
};

absl::Status SyntaxError(absl::string_view text, absl::string_view name,
                         rapidjson::ParseErrorCode code, size_t offset,
                         int max_depth) {
  const bool foreign_byte =
      offset < text.size() && static_cast<unsigned char>(text[offset]) >= 0x80;
  if (code == rapidjson::kParseErrorTermination) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is nested deeper than ", max_depth,
                     " levels at byte ", offset));
  }
  if (code == rapidjson::kParseErrorStringInvalidEncoding || foreign_byte) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not UTF-8 text at byte ", offset));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is not JSON at byte ", offset, ": ",
                   rapidjson::GetParseError_En(code)));
}

}  // namespace

absl::Status CheckJsonText(absl::string_view text, absl::string_view name,
                           const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", text.size(),
                                                   " bytes; allowed: up to ",
                                                   limits.max_bytes));
  }
  // RapidJSON takes a NUL for the end and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has a NUL at byte ", nul, "; it must be UTF-8 text"));
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>
      input(stream);
  DepthGuard guard(limits.max_depth);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result =
      reader.Parse<kJsonParseFlags>(input, guard);
  if (!result) {
    return SyntaxError(text, name, result.Code(), result.Offset(),
                       limits.max_depth);
  }
  return absl::OkStatus();
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::Utf8SafeCEscape(text);
  size_t end = max_bytes;
  // Continuation bytes are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(absl::Utf8SafeCEscape(text.substr(0, end)), "...");
}

}  // namespace mansard::model
