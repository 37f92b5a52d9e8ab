// The states of recurrent mixers.
//
// State traffic counts as KV traffic: like a cache it is kept between passes
// for each sequence and lies in HBM. The state of a prompt without a prefix is
// zero and not read.
#include "model/ops/op.h"

namespace mansard::model {
namespace {

// Positions a chunk of the prompt kernels. Gated DeltaNet and KDA: 64 (their
// reports' kernels); Mamba-2: 256 (arXiv 2405.21060 §6, chunk_size of its
// code); lightning attention: 128.
constexpr int64_t kDeltaChunk = 64;
constexpr int64_t kMamba2Chunk = 256;
constexpr int64_t kLightningChunk = 128;

// softplus (exp, log) of a raw decay, and its exp.
constexpr double kSpecialPerDecay = 3;
// Square, sum, scale.
constexpr double kNormFlops = 3;
// SiLU: add, divide, multiply.
constexpr double kSiluFlops = 3;

bool IsDelta(StateRule rule) {
  return rule == StateRule::kGatedDelta || rule == StateRule::kKeyGatedDelta;
}

// What a token, a head or an element of a shape is worth, as doubles.
struct Sizes {
  explicit Sizes(const RecurrentShape& shape)
      : requests(static_cast<double>(shape.group.request_count)),
        tokens(static_cast<double>(shape.group.new_tokens)),
        heads(shape.heads),
        key_heads(shape.key_heads),
        key(shape.key_size),
        value(shape.value_size) {}

  double keys() const { return key_heads * key; }
  double values() const { return heads * value; }
  double state() const { return heads * key * value; }

  double requests, tokens;  // Tokens of one request.
  double heads, key_heads;
  double key, value;  // Of one head.
};

// Decays that one token brings: constants need none.
double DecaysPerToken(StateRule rule, const Sizes& s) {
  switch (rule) {
    case StateRule::kDecay:
      return 0;
    case StateRule::kKeyGatedDelta:
      return s.heads * s.key;
    case StateRule::kGatedDelta:
    case StateRule::kMamba:
    case StateRule::kMamba2:
      return s.heads;
  }
  return 0;
}

// Vector work on what a token brings before the state sees it: SiLU (lightning
// attention), norms of queries and keys (delta rules), the time step's product
// and the skip (Mamba).
double InputFlopsPerToken(StateRule rule, const Sizes& s) {
  switch (rule) {
    case StateRule::kDecay:
      return kSiluFlops * (2 * s.keys() + s.values());
    case StateRule::kGatedDelta:
    case StateRule::kKeyGatedDelta:
      return kNormFlops * 2 * s.keys();
    case StateRule::kMamba:
    case StateRule::kMamba2:
      return 3 * s.values();
  }
  return 0;
}

double SpecialPerToken(StateRule rule, const Sizes& s) {
  const double decays = kSpecialPerDecay * DecaysPerToken(rule, s);
  switch (rule) {
    case StateRule::kDecay:
      return 2 * s.keys() + s.values();
    case StateRule::kGatedDelta:
    case StateRule::kKeyGatedDelta:
      return decays + s.heads + 2 * s.key_heads;  // Write strengths, norms.
    case StateRule::kMamba:
      // The time step's softplus; exp of it times each state element's rate.
      return 2 * s.heads + s.state();
    case StateRule::kMamba2:
      return decays;
  }
  return 0;
}

// One token: S = a S (1 an element), S += k v^T and o = S^T q (2 each).
// Gated DeltaNet (arXiv 2412.06464 §3.1) and KDA read the old value S^T k
// first (2 an element) and write the scaled difference (2 a value). Mamba
// (arXiv 2312.00752 §3.3) makes each element's decay (1 an element).
double UpdateFlopsPerToken(StateRule rule, const Sizes& s) {
  switch (rule) {
    case StateRule::kDecay:
    case StateRule::kMamba2:
      return 5 * s.state();
    case StateRule::kGatedDelta:
    case StateRule::kKeyGatedDelta:
      return 7 * s.state() + 2 * s.values();
    case StateRule::kMamba:
      return 6 * s.state();
  }
  return 0;
}

// A prompt cut into chunks; causal pairs and triples of positions that share
// one.
struct Chunks {
  Chunks(int64_t tokens, int64_t chunk) {
    const auto whole = static_cast<double>(tokens / chunk);
    Add(static_cast<double>(chunk), whole);
    const int64_t rest = tokens % chunk;
    if (rest != 0) Add(static_cast<double>(rest), 1);
  }

  double count = 0;
  double pairs = 0;           // i >= j
  double strict_pairs = 0;    // i > j
  double strict_triples = 0;  // i > k > j

 private:
  void Add(double size, double times) {
    count += times;
    pairs += times * size * (size + 1) / 2;
    strict_pairs += times * size * (size - 1) / 2;
    strict_triples += times * (size * (size - 1) * (size - 2) / 6);
  }
};

// Positions a chunk; 0: the rule has no chunks.
int64_t ChunkOf(StateRule rule) {
  switch (rule) {
    case StateRule::kDecay:
      return kLightningChunk;
    case StateRule::kGatedDelta:
    case StateRule::kKeyGatedDelta:
      return kDeltaChunk;
    case StateRule::kMamba:
      return 0;
    case StateRule::kMamba2:
      return kMamba2Chunk;
  }
  return 0;
}

// Products of a prompt on tensor units. Every rule: within a chunk, scores of
// queries and keys (once for the heads that share them) and scores times
// values, causal pairs alone; between chunks, queries times state and keys
// times values into the state. Sources: lightning attention-2 (arXiv
// 2401.04658 §3), Mamba-2 (arXiv 2405.21060 §6).
// Delta rules, the UT transform (arXiv 2406.06484 §3, 2412.06464 §3.3): scores
// of keys and keys, the inverse of a unit triangular matrix by substitution,
// its products with keys (W) and values (U), and W times the state.
double ScanTensorFlops(StateRule rule, const Sizes& s, const Chunks& chunks) {
  double flops = s.keys() * 2 * chunks.pairs + s.values() * 2 * chunks.pairs +
                 4 * s.state() * s.tokens;
  if (IsDelta(rule)) {
    flops += s.keys() * 2 * chunks.strict_pairs +
             s.heads * 2 * chunks.strict_triples +
             s.heads * 2 * (s.key + s.value) * chunks.pairs +
             2 * s.state() * s.tokens;
  }
  return flops;
}

// Decays of scores (1 a pair), of keys (1) and of what comes out of the state,
// which is added (2 a value); the state decayed and added to (2 an element and
// chunk). Delta rules: scores of keys (2 a strict pair), keys decayed and
// scaled (2), values scaled and reduced by what the state holds (2).
double ScanVectorFlops(StateRule rule, const Sizes& s, const Chunks& chunks) {
  double flops = s.heads * chunks.pairs + 2 * s.state() * chunks.count +
                 s.heads * (s.key + 2 * s.value) * s.tokens;
  if (IsDelta(rule)) {
    flops += s.heads * 2 * chunks.strict_pairs +
             s.heads * 2 * (s.key + s.value) * s.tokens;
  }
  return flops;
}

// Decays between two positions of a chunk: of each pair, or of each key element
// once more, for the keys. Lightning attention's are a table.
double ScanSpecial(StateRule rule, const Sizes& s, const Chunks& chunks) {
  switch (rule) {
    case StateRule::kDecay:
    case StateRule::kMamba:
      return 0;
    case StateRule::kKeyGatedDelta:
      return s.heads * s.key * s.tokens;
    case StateRule::kGatedDelta:
    case StateRule::kMamba2:
      return s.heads * chunks.pairs;
  }
  return 0;
}

// Elements that one token brings: queries, keys and values (C, B and x), decays
// or time steps, and the delta rules' write strengths.
double InputsPerToken(StateRule rule, const Sizes& s) {
  return 2 * s.keys() + s.values() + DecaysPerToken(rule, s) +
         (IsDelta(rule) ? s.heads : 0);
}

}  // namespace

int64_t StateVectorElements(StateRule rule, int heads, int key_size) {
  const int64_t all = heads;
  switch (rule) {
    case StateRule::kDecay:
      return 0;
    case StateRule::kGatedDelta:
      return 2 * all;  // A, dt bias.
    case StateRule::kKeyGatedDelta:
      return all + all * key_size;
    case StateRule::kMamba:
      return all * key_size + 2 * all;  // A; dt bias, D.
    case StateRule::kMamba2:
      return 3 * all;  // A, dt bias, D.
  }
  return 0;
}

// Decode: token by token, drafted ones too; the state is read once and written
// once a sequence. Prompts: by chunks, Mamba token by token; the state is read
// where there is a prefix and written once. What a kernel spills between its
// phases is not compulsory.
Op StateOp(const RecurrentShape& shape, Format vector_format) {
  const Sizes s(shape);
  const bool decode = shape.group.role == Role::kDecode;
  double tensor = 0;
  double vector = InputFlopsPerToken(shape.rule, s) * s.tokens;
  double special = SpecialPerToken(shape.rule, s) * s.tokens;
  const int64_t chunk = ChunkOf(shape.rule);
  if (decode || chunk == 0) {
    vector += UpdateFlopsPerToken(shape.rule, s) * s.tokens;
  } else {
    const Chunks chunks(shape.group.new_tokens, chunk);
    tensor = ScanTensorFlops(shape.rule, s, chunks);
    vector += ScanVectorFlops(shape.rule, s, chunks);
    special += ScanSpecial(shape.rule, s, chunks);
  }
  const bool reads = decode || shape.group.prior_tokens > 0;
  const Bytes states = ElementBytes(shape.state, s.requests * s.state());
  const double tokens = s.requests * s.tokens;

  Op op{.kind = decode ? OpKind::kStateUpdate : OpKind::kStateScan,
        .part = Part::kRecurrentState,
        .shape = shape};
  op.work.tensor = Flops::Of(s.requests * tensor);
  op.work.vector = Flops::Of(s.requests * vector);
  op.work.special = Flops::Of(s.requests * special);
  op.work.weights = ElementBytes(vector_format,
                                 static_cast<double>(StateVectorElements(
                                     shape.rule, shape.heads, shape.key_size)));
  if (reads) op.work.kv_read = states;
  op.work.kv_write = states;
  op.work.activations_in =
      ElementBytes(shape.input, tokens * InputsPerToken(shape.rule, s));
  op.work.activations_out = ElementBytes(shape.input, tokens * s.values());
  op.held = op.work.weights;
  return op;
}

}  // namespace mansard::model
