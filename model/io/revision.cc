#include "model/io/revision.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace mansard::model {

void ContentHasher::Add(absl::string_view bytes) {
  constexpr uint64_t kPrime = 1099511628211u;
  uint64_t hash = hash_;
  for (char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  hash_ = hash;
}

std::string ContentHasher::Text() const {
  // Folded, so that all 64 bits count in the 48 that are shown.
  const uint64_t folded = (hash_ >> 48) ^ (hash_ & ((uint64_t{1} << 48) - 1));
  return absl::StrCat(absl::Hex(folded, absl::kZeroPad12));
}

std::string ContentHasher::LongText() const {
  return absl::StrCat(absl::Hex(hash_, absl::kZeroPad16));
}

std::string ContentHash(absl::string_view bytes) {
  ContentHasher hasher;
  hasher.Add(bytes);
  return hasher.Text();
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
