// Lower's closed forms against the slow counter, over an enumerated grid of
// small graphs, passes and shardings, by part and exactly.

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/reference/reference_counter.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Format;
using model::GroupedQueryAttention;
using model::Op;
using model::Role;

constexpr double kBf16Bytes = 2;
constexpr double kFp8Bytes = 1;

// Part names carry the layer kind and group: "layers.dense.attention[1]".
std::string PartOf(const Op& op, const model::ModelGraph& graph) {
  std::string name = model::OpName(op, graph);
  name = name.substr(name.rfind('.') + 1);
  return name.substr(0, name.find('['));
}

struct ByteWork {
  double flops = 0, special = 0, weights = 0, kv_read = 0, kv_write = 0;
  double in = 0, out = 0, message = 0;

  bool operator==(const ByteWork&) const = default;
};

std::ostream& operator<<(std::ostream& os, const ByteWork& w) {
  return os << "flops " << w.flops << " special " << w.special << " weights "
            << w.weights << " kv " << w.kv_read << "/" << w.kv_write << " act "
            << w.in << "/" << w.out << " message " << w.message;
}

std::map<std::string, ByteWork> Lowered(const model::Target& target,
                                        const model::ForwardPass& pass) {
  std::map<std::string, ByteWork> sums;
  for (const Op& op :
       model::Lower(target.graph(), pass, target.layout(), target.formats(),
                    target.view().stack.spec().fusion)) {
    if (op.kind == model::OpKind::kHost) continue;
    ByteWork& sum = sums[PartOf(op, target.graph())];
    const double n = op.repeat;
    const bool counts_special = op.kind != model::OpKind::kNorm;
    sum.flops += n * op.work.tensor.value();
    sum.special += counts_special ? n * op.work.special.value() : 0;
    sum.weights += n * op.work.weights.value();
    sum.kv_read += n * op.work.kv_read.value();
    sum.kv_write += n * op.work.kv_write.value();
    sum.in += n * op.work.activations_in.value();
    sum.out += n * op.work.activations_out.value();
    sum.message += n * op.work.message.value();
  }
  return sums;
}

std::map<std::string, ByteWork> Reference(const model::Target& target,
                                          const model::ForwardPass& pass,
                                          int rank, double kv_bytes) {
  const int tensor = target.layout().tensor();
  std::map<std::string, ByteWork> sums;
  for (const auto& [part, work] :
       CountPass(target.graph(), pass, tensor, rank)) {
    // The table's rows are looked up once over all ranks.
    const double sharers = part == "embedding" ? tensor : 1;
    sums[part] = {2.0 * static_cast<double>(work.multiply_adds),
                  static_cast<double>(work.exponentials),
                  kBf16Bytes * static_cast<double>(work.weights) / sharers,
                  kv_bytes * static_cast<double>(work.kv_read),
                  kv_bytes * static_cast<double>(work.kv_write),
                  kBf16Bytes * static_cast<double>(work.activations_in),
                  kBf16Bytes * static_cast<double>(work.activations_out),
                  kBf16Bytes * static_cast<double>(work.message)};
  }
  return sums;
}

std::vector<model::ModelGraphSpec> Graphs() {
  std::vector<model::ModelGraphSpec> graphs;
  const auto add = [&graphs](GroupedQueryAttention attention, bool gated,
                             bool bias, std::vector<int> layers) {
    model::ModelGraphSpec spec = TinyGraph();
    spec.layer_kinds[0].attention = attention;
    spec.layer_kinds[0].feed_forward.gated = gated;
    spec.layer_kinds[0].feed_forward.bias = bias;
    spec.layer_kinds.push_back(spec.layer_kinds[0]);
    spec.layer_kinds[1].name = "window";
    spec.layer_kinds[1].attention.sliding_window = 3;
    spec.vocabulary_size = 13;  // Divides nothing.
    spec.layer_kind_indexes = std::move(layers);
    graphs.push_back(std::move(spec));
  };
  for (int kv_heads : {1, 2, 4}) {
    add({.query_heads = 4, .kv_heads = kv_heads, .head_size = 3}, true, false,
        {0, 0});
    add({.query_heads = 4,
         .kv_heads = kv_heads,
         .head_size = 5,
         .qkv_bias = true,
         .output_bias = kv_heads == 2,
         .qk_norm = true},
        kv_heads != 1, true, {1, 0, 1});
  }
  return graphs;
}

std::vector<model::ForwardPass> Passes() {
  const auto prefill = [](int64_t n, int64_t q, int64_t p) {
    return model::RequestGroup{Role::kPrefill, n, q, p};
  };
  const auto decode = [](int64_t n, int64_t q, int64_t p) {
    return model::RequestGroup{Role::kDecode, n, q, p};
  };
  return {
      BuildPass({prefill(1, 1, 0)}),
      BuildPass({prefill(1, 5, 0)}),
      BuildPass({prefill(2, 3, 4)}),
      BuildPass({prefill(1, 2, 1)}),
      BuildPass({decode(1, 1, 0)}),
      BuildPass({decode(2, 1, 1)}),
      BuildPass({decode(2, 1, 7)}),
      BuildPass({decode(1, 3, 5)}),
      BuildPass({prefill(1, 4, 2), decode(2, 1, 6), decode(1, 2, 0)}),
  };
}

TEST(Reference, ClosedFormsAreExact) {
  const auto hardware = ToyHardware().Build();
  int compared = 0;
  for (const model::ModelGraphSpec& spec : Graphs()) {
    const auto graph = BuildGraph(spec);
    for (int tensor : {1, 2, 4}) {
      for (Format kv : {Format::kBf16, Format::kFp8E4m3}) {
        model::TargetSpec target_spec = TargetOn(graph, hardware, tensor);
        target_spec.kv_cache = kv;
        const model::Target target = BuildTarget(target_spec);
        for (const model::ForwardPass& pass : Passes()) {
          const auto lowered = Lowered(target, pass);
          for (int rank = 0; rank < tensor; ++rank) {
            SCOPED_TRACE(::testing::Message()
                         << "kv heads "
                         << spec.layer_kinds[0].attention.kv_heads << " layers "
                         << spec.layer_kind_indexes.size() << " tensor "
                         << tensor << " rank " << rank << " tokens "
                         << pass.total_new_tokens());
            EXPECT_EQ(lowered,
                      Reference(target, pass, rank,
                                kv == Format::kBf16 ? kBf16Bytes : kFp8Bytes));
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 6 * (1 + 2 + 4) * 2 * 9);
}

// The ranks together do the unsharded work, and what is replicated is what the
// layout says: norms, activations' inputs, KV heads shared between ranks.
TEST(Reference, RanksSumToTheUnshardedModel) {
  const auto hardware = ToyHardware().Build();
  model::ModelGraphSpec spec = TinyGraph();  // 2 KV heads
  const auto graph = BuildGraph(spec);
  const model::ForwardPass pass = DecodePass(3, 9);
  const auto whole = Lowered(BuildTarget(TargetOn(graph, hardware, 1)), pass);
  for (int tensor : {2, 4}) {
    const auto part =
        Lowered(BuildTarget(TargetOn(graph, hardware, tensor)), pass);
    for (const char* name : {"o_proj", "up_proj", "down_proj", "lm_head"}) {
      EXPECT_EQ(part.at(name).flops * tensor, whole.at(name).flops) << name;
      EXPECT_EQ(part.at(name).weights * tensor, whole.at(name).weights) << name;
    }
    EXPECT_EQ(part.at("attention").flops * tensor, whole.at("attention").flops);
    // Two KV heads on four ranks: each is held twice.
    const int copies = tensor == 4 ? 2 : 1;
    EXPECT_EQ(part.at("attention").kv_read * tensor,
              whole.at("attention").kv_read * copies);
    EXPECT_EQ(part.at("attention_all_reduce").message, 2.0 * 3 * 16 * 2);
    EXPECT_EQ(part.at("ffn_all_reduce").message, 2.0 * 3 * 16 * 2);
  }
}

}  // namespace
}  // namespace mansard::testing
