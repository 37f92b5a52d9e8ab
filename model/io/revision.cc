#include "model/io/revision.h"

#include "absl/strings/str_format.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace mansard::model {

std::string ContentHash(absl::string_view bytes) {
  constexpr uint64_t kOffsetBasis = 14695981039346656037u;
  constexpr uint64_t kPrime = 1099511628211u;
  uint64_t hash = kOffsetBasis;
  for (char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  // Folded, so that all 64 bits count in the 48 that are shown.
  const uint64_t folded = (hash >> 48) ^ (hash & ((uint64_t{1} << 48) - 1));
  return absl::StrFormat("%012x", folded);
}

std::string RevisionOf(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream output(&bytes);
    google::protobuf::io::CodedOutputStream coded(&output);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return ContentHash(bytes);
}

}  // namespace mansard::model
