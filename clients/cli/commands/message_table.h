// Tables in CSV whose rows are messages.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace mansard::cli {

// Columns are called as fields of a `row`, or of its messages `parts`, that are
// numbers or text; empty cells set none. `add` makes the message of the next
// row. Fails with the file's `name` and line.
absl::Status ReadMessageTable(
    const std::string& name, const std::string& text,
    const google::protobuf::Descriptor& row,
    const std::vector<const char*>& parts,
    const std::function<google::protobuf::Message*()>& add);

}  // namespace mansard::cli
