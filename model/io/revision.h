// Content hashes of messages.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"

namespace mansard::model {

// ContentHash of bytes that come in parts.
class ContentHasher {
 public:
  void Add(absl::string_view bytes);
  // Of all that was added.
  std::string Text() const;
  // The same, unfolded: 16 hex digits.
  std::string LongText() const;

 private:
  uint64_t hash_ = 14695981039346656037u;
};

// 12 hex digits of a content hash (FNV-1a, 64 bit) of `bytes`: equal content,
// equal revision, on every machine.
std::string ContentHash(absl::string_view bytes);

// ContentHash of the deterministic serialization: equal messages, equal
// revision.
std::string RevisionOf(const google::protobuf::MessageLite& message);

}  // namespace mansard::model
