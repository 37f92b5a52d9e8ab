// Every rule that an input breaks, collected, so that a caller can mend all of
// them at once. Knows no wire format: the server turns it into BadRequest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mansard::model {

struct Violation {
  std::string field;        // "forward_pass.groups[0].request_count"
  std::string description;  // "is -1; allowed: 1 to 1000000"
};

class Violations {
 public:
  // `field` is relative to the path of the enclosing Scopes.
  void Add(absl::string_view field, absl::string_view description);
  // Adds "is {value}; allowed: {allowed}" unless minimum <= value <= maximum.
  // Returns whether the value is in range.
  bool CheckRange(absl::string_view field, double value, double minimum,
                  double maximum);

  bool empty() const { return violations_.empty(); }
  const std::vector<Violation>& all() const { return violations_; }

  // OK when empty; else INVALID_ARGUMENT with one line that names them all:
  // "field: description; field: description".
  absl::Status ToStatus() const;

  // Fields added while a Scope lives are below its path.
  class Scope {
   public:
    Scope(Violations& violations, absl::string_view path);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Violations& violations_;
    size_t parent_length_;
  };

 private:
  std::string path_;
  std::vector<Violation> violations_;
};

// "layer_kinds[3]".
std::string Indexed(absl::string_view field, size_t index);

}  // namespace mansard::model
