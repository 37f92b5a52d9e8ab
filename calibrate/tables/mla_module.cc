#include "calibrate/tables/mla_module.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::OpList;

constexpr Format kHidden = Format::kBf16;

class Emitter {
 public:
  Emitter(const MlaModule& module, Format compute)
      : module_(module), compute_(compute) {}

  OpList Run() {
    const model::LatentAttentionShape& mine = module_.attention;
    const int64_t heads = mine.query_heads;
    const int64_t tokens = mine.group.total_new_tokens();
    Linear(tokens,
           module_.query_lora_rank + mine.kv_lora_rank + mine.rope_head_size,
           module_.hidden_size);
    Norm(tokens, module_.query_lora_rank);
    Norm(tokens, mine.kv_lora_rank);
    Linear(tokens, heads * mine.key_head_size(), module_.query_lora_rank);
    ops_.push_back(
        model::RopeOp({tokens, (heads + 1) * mine.rope_head_size, kHidden}));
    if (mine.absorbed()) {
      ops_.push_back(AbsorptionOp(tokens, mine.query_heads, mine.kv_lora_rank,
                                  mine.nope_head_size, kHidden));
    } else {
      Linear(mine.group.request_count * mine.group.context(),
             heads * (mine.nope_head_size + mine.value_head_size),
             mine.kv_lora_rank);
    }
    ops_.push_back(model::LatentAttentionOp(mine));
    if (mine.absorbed()) {
      ops_.push_back(AbsorptionOp(tokens, mine.query_heads,
                                  mine.value_head_size, mine.kv_lora_rank,
                                  kHidden));
    }
    Linear(tokens, module_.hidden_size, heads * mine.value_head_size);
    return std::move(ops_);
  }

 private:
  void Norm(int64_t rows, int64_t columns) {
    ops_.push_back(model::NormOp({rows, columns, kHidden}, false, kHidden));
  }

  void Linear(int64_t m, int64_t n, int64_t k) {
    const bool narrow = compute_ != kHidden;
    if (narrow) ops_.push_back(model::QuantizeOp({m, k, kHidden}, compute_));
    ops_.push_back(model::GemmOp({.m = m,
                                  .n = n,
                                  .k = k,
                                  .input = narrow ? compute_ : kHidden,
                                  .weights = module_.weights,
                                  .output = kHidden,
                                  .compute = compute_},
                                 false));
  }

  const MlaModule& module_;
  const Format compute_;
  OpList ops_;
};

}  // namespace

model::Op AbsorptionOp(int64_t tokens, int heads, int64_t n, int64_t k,
                       Format format) {
  return model::GemmOp({.m = tokens,
                        .n = n,
                        .k = k,
                        .batch = heads,
                        .input = format,
                        .weights = format,
                        .output = kHidden,
                        .compute = format},
                       false);
}

std::optional<OpList> MlaModuleOps(const MlaModule& module,
                                   const model::Device& device,
                                   const model::KernelStack& stack) {
  const auto compute = device.ComputeFor(module.weights, module.weights);
  if (!compute || stack.GemmFor(compute->format) == nullptr ||
      !device.HasTensor(kHidden) || stack.GemmFor(kHidden) == nullptr) {
    return std::nullopt;
  }
  return Emitter(module, compute->format).Run();
}

}  // namespace mansard::calibrate
