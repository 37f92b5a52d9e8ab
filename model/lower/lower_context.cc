// Context parallelism: what its ranks compute of an attention, and exchange.
#include <algorithm>
#include <utility>

#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitContextGather(size_t index, double entry, int64_t window) {
  const RequestGroup& group = passes_.whole().groups()[index];
  if (group.role == Role::kDecode) return;
  const int64_t prior =
      window == 0 ? group.prior_tokens : std::min(group.prior_tokens, window);
  const double requests = static_cast<double>(group.request_count);
  const Bytes message =
      ElementBytes(formats_.precision.kv_cache,
                   requests * static_cast<double>(prior) * entry) +
      ElementBytes(formats_.hidden,
                   static_cast<double>(group.total_new_tokens()) * entry);
  EmitForGroup(AllGatherOp(Among(layout_.context_group()), message),
               Part::kContextGather, index);
}

Op Lowering::OnContextRank(Op own, const Op& whole, Bytes common) const {
  const double share = 1.0 / layout_.context();
  Work& work = own.work;
  work = whole.work;
  work.tensor *= share;
  work.vector *= share;
  work.special *= share;
  work.kv_write *= share;
  if (own.kind == OpKind::kAttentionDecode) {
    work.kv_read *= share;
    return own;
  }
  work.activations_in = common + (work.activations_in - common) * share;
  work.activations_out *= share;
  return own;
}

void Lowering::EmitContextReduce(size_t index, int64_t heads,
                                 int64_t value_size) {
  const RequestGroup& group = pass_.groups()[index];
  if (layout_.context() == 1 || group.role == Role::kPrefill) return;
  const int64_t tokens = group.total_new_tokens();
  // Outputs, and what each softmax summed.
  const Bytes message =
      ActivationBytes(formats_.hidden, tokens, heads * value_size) +
      ElementBytes(Format::kFp32, static_cast<double>(tokens * heads));
  EmitForGroup(AllReduceOp(Among(layout_.context_group()), message),
               Part::kContextReduce, index);
}

}  // namespace mansard::model
