// The bindings of a stack's proto: which family serves what. Internal to
// model/io: the general ones are looked up in stack_io.cc, finer ones in
// stack_fine.cc.
#pragma once

#include <map>
#include <string>

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/kernel_families.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

inline constexpr const char* kGemm = "gemm";
inline constexpr const char* kDecode = "attention_decode";
inline constexpr const char* kPrefill = "attention_prefill";
inline constexpr const char* kElementwise = "elementwise";
inline constexpr const char* kCollective = "collective";

struct NamedFamily {
  KernelFamily family;
  int position = 0;  // In the proto.
  bool used = false;
};
using FamilyMap = std::map<std::string, NamedFamily>;

// Bindings by what they serve; the key is a format, a tier, or "" for all that
// have no binding of their own.
using BindingMap = std::map<std::string, std::string>;
struct Bindings {
  std::map<std::string, BindingMap> by_op_kind;

  // The family for a key of an op kind; null where none.
  const std::string* Find(const std::string& op_kind,
                          const std::string& key) const;
  // The same, without a look at "".
  const std::string* FindOwn(const std::string& op_kind,
                             const std::string& key) const;
};

// What could be read of a stack's families and bindings. Every op kind that a
// stack must have has a binding, and every bound family serves its op kind,
// where no violation says otherwise.
struct StackParts {
  FamilyMap families;
  Bindings bindings;
};
StackParts ReadStackParts(const v1::KernelStack& proto, Violations& violations);

// stack_fine.cc: the tables of FineFamilies.
// Marks the families that it uses.
void BindFine(const Bindings& bindings, FamilyMap& families,
              FineFamilies& fine);
void AddFine(const FineFamilies& fine, v1::KernelStack& proto);

}  // namespace mansard::model
