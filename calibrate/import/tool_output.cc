#include "calibrate/import/tool_output.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mansard::calibrate {
namespace {

bool HasAll(absl::string_view text,
            const std::vector<absl::string_view>& words) {
  return std::all_of(words.begin(), words.end(), [&](absl::string_view word) {
    return absl::StrContains(text, word);
  });
}

// `json`: begins with a brace or a bracket.
bool Fits(ToolFormat format, absl::string_view text, bool json) {
  switch (format) {
    case ToolFormat::kNvbandwidth:
      return json && HasAll(text, {"\"nvbandwidth\""});
    case ToolFormat::kNcclTests:
      return !json && HasAll(text, {"algbw", "busbw"});
    case ToolFormat::kPerftest:
      return !json && HasAll(text, {"#bytes", "BW average["});
    case ToolFormat::kNsightCompute:
      return !json && HasAll(text, {"Kernel Name", "\"ID\""});
    case ToolFormat::kRocprofCompute:
      return !json && (HasAll(text, {"Kernel_Name", "End_Timestamp"}) ||
                       HasAll(text, {"KernelName", "EndNs"}));
    case ToolFormat::kCutlass:
      return !json && HasAll(text, {"OperationKind,Operation,", ",Runtime"});
    case ToolFormat::kTorchProfiler:
      return json && HasAll(text, {"\"traceEvents\""});
  }
  return false;
}

std::string FormatList() {
  return absl::StrJoin(kToolFormats, ", ",
                       [](std::string* out, ToolFormat format) {
                         absl::StrAppend(out, ToolFormatName(format));
                       });
}

// Bytes of the sequence that begins here; 0 where none is valid (RFC 3629).
size_t SequenceBytes(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4
                                                                          : 0;
  }
  return 0;
}

}  // namespace

absl::string_view ToolFormatName(ToolFormat format) {
  switch (format) {
    case ToolFormat::kNvbandwidth:
      return "nvbandwidth";
    case ToolFormat::kNcclTests:
      return "nccl-tests";
    case ToolFormat::kPerftest:
      return "ib_write_bw";
    case ToolFormat::kNsightCompute:
      return "ncu";
    case ToolFormat::kRocprofCompute:
      return "rocprof-compute";
    case ToolFormat::kCutlass:
      return "cutlass";
    case ToolFormat::kTorchProfiler:
      return "torch-profiler";
  }
  return "";
}

absl::StatusOr<ToolFormat> ParseToolFormat(absl::string_view name) {
  for (const ToolFormat format : kToolFormats) {
    if (name == ToolFormatName(format)) return format;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--format: is \"", name, "\"; allowed: ", FormatList()));
}

absl::StatusOr<std::string> ReadToolOutput(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("cannot be read");
  // Not by seeking: pipes have no end to seek to. A folder opens, but no byte
  // of it can be read.
  std::string text;
  std::string part(size_t{1} << 20, '\0');
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) ||
         file.gcount() > 0) {
    text.append(part.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > static_cast<size_t>(kMaxToolOutputBytes)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "is larger than ", kMaxToolOutputBytes, " bytes; record less"));
    }
  }
  if (file.bad()) return absl::NotFoundError("cannot be read");
  return text;
}

absl::Status CheckToolText(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("is empty");
  if (absl::StartsWith(text, "\x1f\x8b")) {
    return absl::InvalidArgumentError("is compressed (gzip); unpack it first");
  }
  if (absl::StartsWith(text, "\xff\xfe") ||
      absl::StartsWith(text, "\xfe\xff")) {
    return absl::InvalidArgumentError("is UTF-16; save it as UTF-8");
  }
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = SequenceBytes(text.substr(at));
    if (bytes == 0 || text[at] == '\0') {
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at),
                     '\n') +
          1;
      return absl::InvalidArgumentError(absl::StrFormat(
          "line %d: is no text in UTF-8: byte 0x%02x at offset %d", line,
          static_cast<unsigned char>(text[at]), at));
    }
    at += bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<ToolFormat> DetectToolFormat(absl::string_view text) {
  // Past a byte order mark.
  const size_t first = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  const bool json = first != absl::string_view::npos &&
                    (text[first] == '{' || text[first] == '[');
  std::vector<ToolFormat> fitting;
  for (const ToolFormat format : kToolFormats) {
    if (Fits(format, text, json)) fitting.push_back(format);
  }
  if (fitting.size() == 1) return fitting.front();
  return absl::InvalidArgumentError(
      absl::StrCat(fitting.empty() ? "is the output of no tool that is known"
                                   : "could be the output of several tools",
                   "; --format says which: ", FormatList()));
}

}  // namespace mansard::calibrate
