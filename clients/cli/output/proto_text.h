// Messages as text and back: proto JSON and the data files' textproto.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mansard::cli {

// Proto JSON with the field names of the .proto files, indented; numbers that
// are 0 are there too. Ends with a newline.
absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message);

// The data-file form, headed by the message's type.
std::string DataFileText(const google::protobuf::Message& message);

// Fails with "name:line:column: what is wrong".
absl::Status ParseDataFile(absl::string_view name, const std::string& text,
                           google::protobuf::Message* message);
// Strict: fails on an unknown field.
absl::Status ParseJson(absl::string_view name, const std::string& text,
                       google::protobuf::Message* message);

}  // namespace mansard::cli
