// Content hashes of messages.
#pragma once

#include <string>

#include "google/protobuf/message_lite.h"

namespace mansard::model {

// ContentHash of the deterministic serialization: equal messages, equal
// revision.
std::string RevisionOf(const google::protobuf::MessageLite& message);

}  // namespace mansard::model
