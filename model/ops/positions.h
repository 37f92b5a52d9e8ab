// How many positions or entries the tokens of a group see. Closed forms, exact
// below 2^53; contexts up to 2e9 and a pass's new tokens do not overflow.
// Internal to model/ops: CausalPairs and EntryPairs are in op.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/ops/op.h"

namespace mansard::model {

// Positions before the new tokens that at least one of them sees.
int64_t VisiblePrior(const RequestGroup& group, int64_t window, int64_t chunk);

// Positions that one decoded token sees. In a chunk: of its fullest position,
// so that a longer context is never cheaper.
int64_t SeenByDecode(const RequestGroup& group, int64_t window, int64_t chunk);

// Scores of one request and head over single positions. A decoded token sees
// the whole context, drafts after it included: they share a tile.
double PositionPairs(const RequestGroup& group, int64_t window, int64_t chunk);

// The same over entries of `ratio` positions each, at most `top_k` of them for
// each token (0: all).
double SelectedPairs(const RequestGroup& group, int64_t ratio, int64_t top_k);

// Entries complete before the new tokens, and with them.
inline int64_t PriorEntries(const RequestGroup& group, int64_t ratio) {
  return group.prior_tokens / ratio;
}
inline int64_t Entries(const RequestGroup& group, int64_t ratio) {
  return group.context() / ratio;
}

// Of `held` entries, those that the tokens of one request read, as if no two
// chose the same: `top_k` each (0: all).
inline int64_t EntriesRead(const RequestGroup& group, int64_t held,
                           int64_t top_k) {
  return top_k == 0 ? held : std::min(held, group.new_tokens * top_k);
}

inline OpKind AttentionKind(const RequestGroup& group) {
  return group.role == Role::kDecode ? OpKind::kAttentionDecode
                                     : OpKind::kAttentionPrefill;
}

// Softmax of `scores` scores.
void AddSoftmax(double scores, Work& work);

// An unfused kernel writes scores and their exponentials and reads both back.
void AddScoreTraffic(double scores, Format format, Work& work);

}  // namespace mansard::model
