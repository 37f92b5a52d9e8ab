#include "server/open_streams.h"

namespace mansard::server {

bool OpenStreams::Add(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (!ended_) streams_.insert(stream);
  return !ended_;
}

void OpenStreams::Remove(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void OpenStreams::EndAll() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (Stream* stream : streams_) stream->EndForDrain();
}

}  // namespace mansard::server
