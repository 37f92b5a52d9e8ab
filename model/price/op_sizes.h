// The sizes of an op that a family's fitted ranges are about. Internal to
// model/price, and to fits.
#pragma once

#include <type_traits>
#include <variant>

#include "model/hardware/fitted_ranges.h"
#include "model/ops/op.h"

namespace mansard::model {

namespace op_sizes_internal {

inline double Context(const RequestGroup& group) {
  return static_cast<double>(group.prior_tokens + group.new_tokens);
}

template <class Visit>
void VisitGroup(const RequestGroup& group, double context, const Visit& visit) {
  visit(SizeName::kRequests, static_cast<double>(group.request_count));
  visit(SizeName::kNewTokens, static_cast<double>(group.new_tokens));
  visit(SizeName::kContextTokens, context);
}

template <class Visit>
struct OfShape {
  const Work& work;
  const Visit& visit;

  void operator()(const GemmShape& shape) const {
    visit(SizeName::kM, static_cast<double>(shape.m));
    visit(SizeName::kN, static_cast<double>(shape.n));
    visit(SizeName::kK, static_cast<double>(shape.k));
    visit(SizeName::kBatch, static_cast<double>(shape.batch));
  }
  void operator()(const GroupedGemmShape& shape) const {
    visit(SizeName::kRows, shape.rows);
    visit(SizeName::kExperts, shape.experts);
    visit(SizeName::kN, static_cast<double>(shape.n));
    visit(SizeName::kK, static_cast<double>(shape.k));
  }
  void operator()(const AttentionShape& shape) const {
    VisitGroup(shape.group,
               shape.cross ? static_cast<double>(shape.group.encoder_tokens)
                           : Context(shape.group),
               visit);
    visit(SizeName::kQueryHeads, shape.query_heads);
    visit(SizeName::kKvHeads, shape.kv_heads);
    visit(SizeName::kHeadSize, shape.head_size);
  }
  void operator()(const LatentAttentionShape& shape) const {
    VisitGroup(shape.group, Context(shape.group), visit);
    visit(SizeName::kQueryHeads, shape.query_heads);
    visit(SizeName::kHeadSize, shape.absorbed()
                                   ? shape.kv_lora_rank + shape.rope_head_size
                                   : shape.key_head_size());
  }
  void operator()(const CollectiveShape& shape) const {
    visit(SizeName::kMessageBytes, work.message.value());
    visit(SizeName::kRanks, shape.ranks);
    visit(SizeName::kNodes, shape.nodes());
  }
  void operator()(const ExchangeShape& shape) const {
    visit(SizeName::kTokens, shape.tokens);
    visit(SizeName::kColumns, static_cast<double>(shape.columns));
    visit(SizeName::kExpertsPerToken, shape.experts_per_token);
    visit(SizeName::kRanks, shape.ranks);
    visit(SizeName::kNodes, shape.nodes());
  }
  void operator()(const ElementwiseShape&) const {
    visit(SizeName::kMovedBytes, work.activations().value());
  }
  // Priced on general families, which are not fitted.
  void operator()(const CompressedAttentionShape&) const {}
  void operator()(const IndexShape&) const {}
  void operator()(const RecurrentShape&) const {}
  void operator()(const HostShape&) const {}
};

}  // namespace op_sizes_internal

// Calls visit(SizeName, double) for each size that the op has.
template <class Visit>
void VisitSizes(const Op& op, const Visit& visit) {
  std::visit(op_sizes_internal::OfShape<Visit>{op.work, visit}, op.shape);
}

}  // namespace mansard::model
