#include "model/estimate/cache_bytes.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {
namespace {

double Blocks(double entries, int64_t block) {
  return std::ceil(entries / static_cast<double>(block));
}

bool IsCompressed(const Attention& attention) {
  return std::holds_alternative<CompressedAttention>(attention);
}

Bytes StateBytes(const LayerKind& kind, const Layout& layout,
                 const PassFormats& formats) {
  Bytes bytes;
  if (kind.attention.has_value()) {
    bytes += ElementBytes(
        formats.precision.state,
        static_cast<double>(layout.PooledStateElements(*kind.attention)));
  }
  if (kind.recurrent.has_value()) {
    const RecurrentMixer mine = layout.OnRank(*kind.recurrent);
    bytes += ElementBytes(formats.precision.state,
                          static_cast<double>(mine.state_elements())) +
             ElementBytes(formats.hidden,
                          static_cast<double>(mine.conv_state_elements()));
  }
  return bytes;
}

}  // namespace

CacheBytes& CacheBytes::operator+=(const CacheBytes& other) {
  cache += other.cache;
  indexer += other.indexer;
  state += other.state;
  paged += other.paged;
  return *this;
}

CacheBytes operator*(double factor, CacheBytes bytes) {
  bytes.cache *= factor;
  bytes.indexer *= factor;
  bytes.state *= factor;
  bytes.paged *= factor;
  return bytes;
}

RequestCache::RequestCache(const ModelGraph& graph, const Layout& layout,
                           int stage, const PassFormats& formats,
                           const EngineMemory* paging)
    : graph_(graph),
      layout_(layout),
      drafts_(stage + 1 == layout.pipeline()),
      formats_(formats),
      paging_(paging) {
  const Format format = formats.precision.kv_cache;
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    Kind& mine = kinds_.emplace_back();
    mine.layers = layout.CountInStage(graph, kinds_.size() - 1, stage);
    mine.state = mine.state_page = StateBytes(kind, layout, formats);
    if (!kind.attention.has_value()) continue;
    const auto bytes = [&](int64_t elements) {
      return ElementBytes(format, static_cast<double>(elements));
    };
    mine.entry = bytes(layout.KvElementsPerRank(*kind.attention));
    mine.index = bytes(IndexerElementsPerEntry(*kind.attention));
    mine.encoder = bytes(layout.EncoderElementsPerRank(*kind.attention));
  }
  if (paging != nullptr) SetPages(*paging);
}

void RequestCache::SetPages(const EngineMemory& paging) {
  const int64_t block = paging.block_tokens;
  Bytes widest;  // One position of the widest layer.
  Bytes largest_state;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const LayerKind& kind = graph_.spec().layer_kinds[i];
    if (kind.attention.has_value() && !IsCompressed(*kind.attention)) {
      widest = Max(widest, kinds_[i].entry + kinds_[i].index);
    }
    if (kind.recurrent.has_value()) {
      largest_state = Max(largest_state, kinds_[i].state);
    }
  }
  const bool unified = paging.unified_pages && widest > Bytes::Zero();
  Bytes page = static_cast<double>(block) * widest;
  if (unified) page *= std::max(1.0, std::ceil(largest_state / page));
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const LayerKind& kind = graph_.spec().layer_kinds[i];
    Kind& mine = kinds_[i];
    const Bytes entry = mine.entry + mine.index;
    mine.block = block;
    mine.page = static_cast<double>(block) * entry;
    if (!unified) continue;
    if (kind.recurrent.has_value()) mine.state_page = Max(page, mine.state);
    if (entry == Bytes::Zero() || IsCompressed(*kind.attention)) continue;
    const double block_bytes = mine.page.value();
    mine.block *= static_cast<int64_t>(std::floor(page.value() / block_bytes));
    mine.page = page;
  }
}

CacheBytes RequestCache::OfLayer(size_t index,
                                 const RequestGroup& group) const {
  const LayerKind& kind = graph_.spec().layer_kinds[index];
  const Kind& mine = kinds_[index];
  CacheBytes bytes;
  bytes.state = mine.state;
  bytes.paged = mine.state_page;
  if (!kind.attention.has_value()) return bytes;
  // The one count of what is cached, which time uses too.
  const Bytes all =
      ElementBytes(formats_.precision.kv_cache,
                   layout_.CachedElements(*kind.attention, group));
  const CacheEntries held =
      layout_.EntriesOnRank(*kind.attention, group.context());
  const bool compressed = IsCompressed(*kind.attention);
  bytes.indexer = (compressed ? held.compressed : held.positions) * mine.index;
  bytes.cache = all - bytes.indexer;
  bytes.paged += paging_ == nullptr ? all : PagedEntries(index, held, group);
  return bytes;
}

Bytes RequestCache::PagedEntries(size_t index, const CacheEntries& held,
                                 const RequestGroup& group) const {
  const Kind& mine = kinds_[index];
  const double context =
      std::ceil(static_cast<double>(group.context()) / layout_.context());
  double blocks = Blocks(held.positions, mine.block);
  if (held.positions > 0 && held.positions < context) {
    blocks = std::min(Blocks(context, mine.block),
                      Blocks(held.positions - 1, mine.block) + 1);
  }
  const auto plain = static_cast<double>(paging_->block_tokens);
  const auto plain_blocks = [&](double entries) {
    return Blocks(entries, paging_->block_tokens) * plain;
  };
  Bytes paged =
      plain_blocks(static_cast<double>(group.encoder_tokens)) * mine.encoder;
  if (!IsCompressed(*graph_.spec().layer_kinds[index].attention)) {
    return paged + blocks * mine.page;
  }
  // Index keys are of entries, not of positions.
  paged += blocks * plain * mine.entry;
  paged += plain_blocks(held.compressed) * (mine.entry + mine.index);
  return paged;
}

CacheBytes RequestCache::OfRequest(const RequestGroup& group) const {
  CacheBytes bytes;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    bytes += static_cast<double>(CountOf(i)) * OfLayer(i, group);
  }
  return bytes;
}

Bytes RequestCache::MissingOfLayer(size_t index,
                                   const RequestGroup& group) const {
  const LayerKind& kind = graph_.spec().layer_kinds[index];
  const Kind& mine = kinds_[index];
  if (!kind.attention.has_value()) return mine.state;
  const CacheEntries held =
      layout_.EntriesOnRank(*kind.attention, group.context());
  const CacheEntries prior =
      layout_.EntriesOnRank(*kind.attention, group.prior_tokens);
  const double added =
      std::ceil(static_cast<double>(group.new_tokens) / layout_.context());
  const double positions = std::min(held.positions, added);
  const double compressed = held.compressed - prior.compressed;
  Bytes missing =
      mine.state + (positions + compressed) * mine.entry +
      (IsCompressed(*kind.attention) ? compressed : positions) * mine.index;
  if (group.prior_tokens == 0) {
    missing += static_cast<double>(group.encoder_tokens) * mine.encoder;
  }
  return missing;
}

Bytes RequestCache::Missing(const RequestGroup& group) const {
  Bytes bytes;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    bytes += static_cast<double>(CountOf(i)) * MissingOfLayer(i, group);
  }
  return bytes;
}

int RequestCache::LayersHeld() const {
  int layers = 0;
  for (const Kind& kind : kinds_) {
    const Bytes any = kind.entry + kind.index + kind.encoder + kind.state;
    if (any > Bytes::Zero()) layers += kind.layers;
  }
  return layers;
}

CacheBytes RequestCache::OfDrafts(const RequestGroup& group,
                                  const ForwardPass& pass) const {
  CacheBytes bytes;
  const int drafts = pass.drafting().draft_tokens;
  const int modules = graph_.spec().mtp.modules;
  if (drafts == 0 || modules == 0 || !drafts_ || group.role != Role::kDecode) {
    return bytes;
  }
  for (int module = 0; module < std::min(drafts, modules); ++module) {
    // As ForwardPass::DraftRun: each run after a module's first adds a token,
    // the first of them in the place of the next one.
    const int later_runs = (drafts - 1 - module) / modules;
    RequestGroup last = group;
    last.prior_tokens += later_runs;
    for (int kind : graph_.spec().mtp.layer_kind_indexes) {
      bytes += OfLayer(static_cast<size_t>(kind), last);
    }
  }
  return bytes;
}

Bytes RequestCache::PerToken(size_t index) const {
  const std::optional<Attention>& attention =
      graph_.spec().layer_kinds[index].attention;
  if (!attention.has_value()) return Bytes::Zero();
  const Kind& mine = kinds_[index];
  const auto* compressed = std::get_if<CompressedAttention>(&*attention);
  if (compressed == nullptr) {
    return (mine.entry + mine.index) / static_cast<double>(layout_.context());
  }
  if (compressed->ratio <= 1) {
    // An entry a position, beside the position itself.
    return compressed->ratio == 0 ? mine.entry : 2.0 * mine.entry + mine.index;
  }
  return mine.entry +
         (mine.entry + mine.index) / static_cast<double>(compressed->ratio);
}

Bytes RequestCache::PerToken(const ForwardPass& pass) const {
  Bytes bytes;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    bytes += static_cast<double>(CountOf(i)) * PerToken(i);
  }
  if (!drafts_) return bytes;
  const MultiTokenPrediction& mtp = graph_.spec().mtp;
  for (int i = 0; i < std::min(pass.drafting().draft_tokens, mtp.modules);
       ++i) {
    for (int kind : mtp.layer_kind_indexes) {
      bytes += PerToken(static_cast<size_t>(kind));
    }
  }
  return bytes;
}

int64_t RequestCache::BlockTokens() const {
  int64_t block = 1;
  for (const Kind& kind : kinds_) {
    if (kind.entry > Bytes::Zero()) block = std::max(block, kind.block);
  }
  return block * layout_.context();
}

}  // namespace mansard::model
