// Request and response of a call in one protobuf arena, which goes as a whole
// once the answer has left.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

#include <cstddef>

namespace mansard::server {

// For SetMessageAllocatorFor_X of a generated callback service; lives as long
// as the server. Thread-safe: it has no state.
template <class Request, class Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override {
    return new Holder;
  }

 private:
  // Most requests with their answers fit the first block; larger ones take
  // further blocks of growing size.
  static constexpr size_t kFirstBlockBytes = 4096;
  static constexpr size_t kMaxBlockBytes = size_t{64} * 1024;

  class Holder final : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() : arena_(Options(block_)) {
      using google::protobuf::Arena;
      this->set_request(Arena::CreateMessage<Request>(&arena_));
      this->set_response(Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    static google::protobuf::ArenaOptions Options(char* block) {
      google::protobuf::ArenaOptions options;
      options.initial_block = block;
      options.initial_block_size = kFirstBlockBytes;
      options.start_block_size = kFirstBlockBytes;
      options.max_block_size = kMaxBlockBytes;
      return options;
    }

    alignas(std::max_align_t) char block_[kFirstBlockBytes];
    google::protobuf::Arena arena_;
  };
};

}  // namespace mansard::server
