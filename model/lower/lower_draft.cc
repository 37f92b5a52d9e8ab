// Drafting by a model's own modules (DeepSeek-V3, arXiv 2412.19437 §2.2): a
// module reads the hidden state of a position and the embedding of the token
// after it, and drafts the one after that.
#include <utility>

#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitDrafts() {
  const int modules = graph_.spec().mtp.modules;
  if (modules == 0) return;
  for (int i = 0; i < pass_.drafting().draft_tokens; ++i) {
    const ForwardPass run = passes_.all().DraftRun(i, modules);
    const RankPasses passes(run, layout_);
    Lowering module(graph_, passes, routing_, layout_, formats_, fusion_,
                    stages_);
    module.draft_ = true;
    module.repeat_ = repeat_;
    module.ops_ = std::move(ops_);
    const size_t before = module.ops_.size();
    module.EmitDraft();
    ops_ = std::move(module.ops_);
    // Used again: held already.
    for (size_t op = before; i >= modules && op < ops_.size(); ++op) {
      ops_[op].held = Bytes::Zero();
    }
  }
}

void Lowering::EmitDraft() {
  const ModelGraphSpec& spec = graph_.spec();
  const int64_t streams = spec.residual_streams;
  // The model's table is on the first stage, unless it is the head's.
  const bool apart = layout_.pipeline() > 1 && !spec.tied_embeddings;
  EmitLookup(Part::kDraftEmbedding,
             spec.mtp.own_embedding || apart
                 ? layout_.VocabularyPerRank(graph_) + ExtraRowsPerRank()
                 : 0);
  // Two vectors: of the embedding, and of the hidden state's streams.
  Op norms =
      WithNormBias(NormOp({(1 + streams) * tokens_, hidden_, formats_.hidden},
                          false, formats_.native));
  norms.work.weights *= 2;
  norms.held *= 2;
  Emit(std::move(norms), Part::kDraftNorms);
  if (streams == 1) {
    Emit(WideGemm(tokens_, hidden_, 2 * hidden_, false), Part::kDraftProj);
  } else {
    // The embedding's share is the same in every stream.
    Emit(WideGemm(tokens_, hidden_, hidden_, false), Part::kDraftProj);
    Emit(WideGemm(streams * tokens_, hidden_, hidden_, false),
         Part::kDraftProj);
  }
  bool open = false;
  for (int index : spec.mtp.layer_kind_indexes) {
    const auto kind = static_cast<size_t>(index);
    EmitLayer(kind, repeat_,
              open ? Starts{.open = repeat_} : Starts{.closed = repeat_});
    open = LeavesOpen(spec.layer_kinds[kind]);
  }
  EmitFinalNorm(open);
  EmitHead(pass_.request_count());
}

}  // namespace mansard::model
