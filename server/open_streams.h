// Streams that are open: they would keep a draining server waiting.
#pragma once

#include <mutex>
#include <set>

namespace mansard::server {

class OpenStreams {
 public:
  class Stream {
   public:
    virtual ~Stream() = default;
    // Ends it, from any thread, at once or after the message it is at. May come
    // after its own end.
    virtual void EndForDrain() = 0;
  };

  // False once EndAll was called: the stream ends itself then.
  bool Add(Stream* stream);
  // No call of EndForDrain runs or comes afterwards.
  void Remove(Stream* stream);
  void EndAll();

 private:
  std::mutex mutex_;
  std::set<Stream*> streams_;
  bool ended_ = false;
};

}  // namespace mansard::server
