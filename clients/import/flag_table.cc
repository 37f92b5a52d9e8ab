#include "clients/import/flag_table.h"

#include "absl/strings/str_split.h"

namespace mansard::importing {

absl::string_view RuntimeName(Runtime runtime) {
  switch (runtime) {
    case Runtime::kVllm:
      return "vLLM";
    case Runtime::kSglang:
      return "SGLang";
    case Runtime::kTrtllm:
      return "TensorRT-LLM";
  }
  return "";
}

absl::string_view RuntimeVersion(Runtime runtime) {
  switch (runtime) {
    case Runtime::kVllm:
      return "0.24";
    case Runtime::kSglang:
      return "0.5.14";
    case Runtime::kTrtllm:
      return "1.3";
  }
  return "";
}

absl::string_view StackPrefix(Runtime runtime) {
  switch (runtime) {
    case Runtime::kVllm:
      return "vllm-";
    case Runtime::kSglang:
      return "sglang-";
    case Runtime::kTrtllm:
      return "trtllm-";
  }
  return "";
}

absl::string_view FateWord(Fate fate) {
  switch (fate) {
    case Fate::kEngine:
      return "engine";
    case Fate::kDefault:
      return "default";
    case Fate::kRequest:
      return "ask";
    case Fate::kNotModeled:
      return "not modelled";
    case Fate::kNoEffect:
      return "no effect";
    case Fate::kUnknown:
      return "unknown";
  }
  return "";
}

absl::Span<const FlagSpec> FlagsOf(Runtime runtime) {
  switch (runtime) {
    case Runtime::kVllm:
      return VllmFlags();
    case Runtime::kSglang:
      return SglangFlags();
    case Runtime::kTrtllm:
      break;
  }
  return TrtllmFlags();
}

absl::string_view MainName(const FlagSpec& spec) {
  return spec.names.substr(0, spec.names.find(' '));
}

const FlagSpec* FindFlag(Runtime runtime, absl::string_view name) {
  for (const FlagSpec& spec : FlagsOf(runtime)) {
    for (const absl::string_view known : absl::StrSplit(spec.names, ' ')) {
      if (known == name) return &spec;
    }
  }
  return nullptr;
}

}  // namespace mansard::importing
