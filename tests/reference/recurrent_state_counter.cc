// Of RecurrentCounter: states, token by token and chunk by chunk.
#include <algorithm>

#include "tests/reference/recurrent_counter.h"

namespace mansard::testing {
namespace {

using model::RecurrentMixer;
using model::RequestGroup;
using model::Role;
using model::StateRule;

bool IsDelta(const RecurrentMixer& m) {
  return m.rule == StateRule::kGatedDelta ||
         m.rule == StateRule::kKeyGatedDelta;
}

// Positions a chunk of a prompt; Mamba walks token by token.
int64_t ChunkSize(StateRule rule) {
  if (rule == StateRule::kMamba2) return 256;
  return rule == StateRule::kDecay ? 128 : 64;
}

}  // namespace

void RecurrentCounter::Vectors(const RecurrentMixer& m) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  for (int64_t h = 0; h < heads_; ++h) {
    switch (m.rule) {
      case StateRule::kDecay:
        break;
      case StateRule::kGatedDelta:
        work.weights += 2 * native_;
        break;
      case StateRule::kKeyGatedDelta:
        work.weights += native_ + m.key_size * native_;
        break;
      case StateRule::kMamba:
        work.weights += m.key_size * native_ + 2 * native_;
        break;
      case StateRule::kMamba2:
        work.weights += 3 * native_;
        break;
    }
  }
}

void RecurrentCounter::Request(const RequestGroup& group,
                               const RecurrentMixer& m) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  const bool decode = group.role == Role::kDecode;
  for (int64_t h = 0; h < heads_; ++h) {
    for (int64_t e = 0; e < int64_t{m.key_size} * m.value_size; ++e) {
      if (decode || group.prior_tokens > 0) work.kv_read += state_;
      work.kv_write += state_;
    }
  }
  for (int64_t t = 0; t < group.new_tokens; ++t) TokenInput(m);
  if (decode || m.rule == StateRule::kMamba) {
    for (int64_t t = 0; t < group.new_tokens; ++t) Update(m);
    return;
  }
  const int64_t chunk = ChunkSize(m.rule);
  for (int64_t t = 0; t < group.new_tokens; t += chunk) {
    Chunk(m, std::min(chunk, group.new_tokens - t));
  }
}

// What one token brings, and what is done to it first.
void RecurrentCounter::TokenInput(const RecurrentMixer& m) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  const auto decay = [&work, this] {
    work.activations_in += element_;
    work.exponentials += 3;  // softplus is two.
  };
  for (int64_t h = 0; h < key_heads_; ++h) {
    for (int side = 0; side < 2; ++side) {  // Query and key, C and B.
      for (int d = 0; d < m.key_size; ++d) {
        work.activations_in += element_;
        if (IsDelta(m)) work.vector_operations += 3;
        if (m.rule == StateRule::kDecay) work.vector_operations += 3;
        if (m.rule == StateRule::kDecay) ++work.exponentials;
      }
      if (IsDelta(m)) ++work.exponentials;  // A root.
    }
  }
  for (int64_t h = 0; h < heads_; ++h) {
    for (int d = 0; d < m.value_size; ++d) {
      work.activations_in += element_;
      work.activations_out += element_;
      if (!IsDelta(m)) work.vector_operations += 3;  // SiLU, or step and skip.
      if (m.rule == StateRule::kDecay) ++work.exponentials;
    }
    if (m.rule == StateRule::kGatedDelta || m.rule == StateRule::kMamba2) {
      decay();
    }
    for (int d = 0; m.rule == StateRule::kKeyGatedDelta && d < m.key_size;
         ++d) {
      decay();
    }
    if (m.rule == StateRule::kMamba) {
      work.activations_in += element_;
      work.exponentials += 2;
    }
    if (IsDelta(m)) {
      work.activations_in += element_;
      ++work.exponentials;
    }
  }
}

void RecurrentCounter::Update(const RecurrentMixer& m) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  for (int64_t h = 0; h < heads_; ++h) {
    for (int j = 0; j < m.value_size; ++j) {
      for (int i = 0; i < m.key_size; ++i) {
        if (m.rule == StateRule::kMamba) {
          ++work.vector_operations;  // The element's rate times the step.
          ++work.exponentials;
        }
        ++work.vector_operations;                     // Decay.
        if (IsDelta(m)) work.vector_operations += 2;  // The old value.
        work.vector_operations += 2;                  // The new one.
        work.vector_operations += 2;                  // The output.
      }
      if (IsDelta(m)) work.vector_operations += 2;  // Difference, strength.
    }
  }
}

void RecurrentCounter::Chunk(const RecurrentMixer& m, int64_t size) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  ChunkProducts(m, size);
  for (int64_t h = 0; h < heads_; ++h) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        ++work.vector_operations;  // The score's decay.
        if (IsDelta(m) && j < i) work.vector_operations += 2;
        const bool by_pair =
            m.rule == StateRule::kGatedDelta || m.rule == StateRule::kMamba2;
        if (by_pair) ++work.exponentials;
      }
      for (int d = 0; d < m.key_size; ++d) {
        ++work.vector_operations;
        if (IsDelta(m)) work.vector_operations += 2;
        if (m.rule == StateRule::kKeyGatedDelta) ++work.exponentials;
      }
      for (int d = 0; d < m.value_size; ++d) {
        work.vector_operations += IsDelta(m) ? 4 : 2;
      }
    }
    for (int e = 0; e < m.key_size * m.value_size; ++e) {
      work.vector_operations += 2;
    }
  }
}

// Products on tensor units, masked ones left out.
void RecurrentCounter::ChunkProducts(const RecurrentMixer& m, int64_t size) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      for (int64_t h = 0; h < key_heads_; ++h) {
        for (int d = 0; d < m.key_size; ++d) {
          ++work.multiply_adds;                           // q k^T
          if (IsDelta(m) && j < i) ++work.multiply_adds;  // k k^T
        }
      }
      for (int64_t h = 0; h < heads_; ++h) {
        for (int d = 0; d < m.value_size; ++d) {
          ++work.multiply_adds;                  // Scores times values.
          if (IsDelta(m)) ++work.multiply_adds;  // U
        }
        for (int d = 0; IsDelta(m) && d < m.key_size; ++d) {
          ++work.multiply_adds;  // W
        }
      }
    }
    for (int64_t h = 0; h < heads_; ++h) {
      for (int e = 0; e < m.key_size * m.value_size; ++e) {
        ++work.multiply_adds;                  // Query times state.
        ++work.multiply_adds;                  // Key times value.
        if (IsDelta(m)) ++work.multiply_adds;  // W times state.
      }
    }
  }
  for (int64_t h = 0; IsDelta(m) && h < heads_; ++h) InverseOfTriangle(size);
}

// T = (I + A)^-1, A strictly lower: row i is -A_i - sum over k < i of A_ik T_k,
// whose elements left of k are no zeros and no ones.
void RecurrentCounter::InverseOfTriangle(int64_t size) {
  ReferenceWork& work = tally_.Of("recurrent_state");
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < i; ++k) {
      for (int64_t j = 0; j < k; ++j) ++work.multiply_adds;
    }
  }
}

}  // namespace mansard::testing
