// The formats of a graph's linear layers, by layer kind and class.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"
#include "model/estimate/formats.h"

namespace mansard::model {
namespace {

// Engines have kernels that widen weights of these on the way and read inputs
// as they are (Marlin for 8-bit and 4-bit floats); integer inputs have none.
bool HasWeightOnlyKernels(Format activations) {
  switch (activations) {
    case Format::kFp8E4m3:
    case Format::kFp8E5m2:
    case Format::kFp8Block:
    case Format::kMxfp8:
    case Format::kMxfp4:
    case Format::kNvfp4:
      return true;
    case Format::kFp32:
    case Format::kTf32:
    case Format::kBf16:
    case Format::kFp16:
    case Format::kInt8:
    case Format::kInt4:
    case Format::kInt4Group64:
    case Format::kInt4Group32:
    case Format::kInt4Symmetric:
    case Format::kInt4Group64Symmetric:
    case Format::kInt4Group32Symmetric:
    case Format::kInt8Group128:
    case Format::kInt8Group64:
      return false;
  }
  return false;
}

// Classes that share a property, each once, in order.
struct Classes {
  std::vector<LinearClass> all;

  void Add(LinearClass linear) {
    const auto at = std::lower_bound(all.begin(), all.end(), linear);
    if (at == all.end() || *at != linear) all.insert(at, linear);
  }
  std::string Names() const {
    return absl::StrJoin(all, ", ", [](std::string* out, LinearClass linear) {
      absl::StrAppend(out, LinearClassName(linear));
    });
  }
};

// Values in the order of their first use, with the classes that have them.
template <class Value>
struct ClassesBy {
  std::vector<std::pair<Value, Classes>> rows;

  void Add(const Value& value, LinearClass linear) {
    for (auto& [known, classes] : rows) {
      if (known == value) return classes.Add(linear);
    }
    rows.emplace_back(value, Classes{{linear}});
  }
};

class Resolution {
 public:
  Resolution(const FormatChoice& choice, const ModelGraphSpec& spec,
             const Device& device, const KernelStack& stack)
      : choice_(choice), spec_(spec), device_(device), stack_(stack) {}

  absl::StatusOr<ResolvedFormats> Run() {
    PassFormats& formats = resolved_.formats;
    formats = StorageFormats(choice_, spec_.native_precision);
    quantised_ = AnyQuantised();
    ASSIGN_OR_RETURN(
        const ComputeFormat wide,
        ResolveGemm(formats.native, formats.hidden, device_, stack_));
    formats.head_compute = wide.format;
    RETURN_IF_ERROR(SetMain());
    for (const LayerKind& kind : spec_.layer_kinds) {
      LinearTable table;
      for (LinearClass linear : AllLinearClasses()) {
        GemmFormats& row = table[static_cast<size_t>(linear)];
        if (!HasLinear(kind, linear)) continue;
        ASSIGN_OR_RETURN(row, Resolve(kind.formats, linear));
        Remember(row, linear);
      }
      formats.kinds.push_back(table);
    }
    ASSIGN_OR_RETURN(formats.head, Resolve(spec_.formats, LinearClass::kHead));
    formats.embedding =
        spec_.tied_embeddings
            ? formats.head.weights
            : Chosen(spec_.formats, LinearClass::kEmbedding).formats.weights;
    Describe();
    return std::move(resolved_);
  }

 private:
  struct Choice {
    GemmFormats formats;
    bool asked = false;  // The caller names the activations.
  };

  // As the checkpoint has them.
  GemmFormats Stored(const std::vector<LinearFormats>& own,
                     LinearClass linear) const {
    for (const LinearFormats& formats : own) {
      if (formats.linear == linear) {
        return {formats.weights, formats.activations, {}};
      }
    }
    if (FollowsNativePrecision(linear)) {
      return {spec_.native_precision.weights,
              spec_.native_precision.activations,
              {}};
    }
    return {resolved_.formats.native, resolved_.formats.hidden, {}};
  }

  bool AnyQuantised() const {
    for (const LayerKind& kind : spec_.layer_kinds) {
      for (LinearClass linear : AllLinearClasses()) {
        if (HasLinear(kind, linear) &&
            IsLowPrecision(Stored(kind.formats, linear).weights)) {
          return true;
        }
      }
    }
    return false;
  }

  Choice Chosen(const std::vector<LinearFormats>& own,
                LinearClass linear) const {
    Choice choice{.formats = Stored(own, linear)};
    const auto take = [&choice](const std::optional<Format>& weights,
                                const std::optional<Format>& activations) {
      choice.formats.weights = weights.value_or(choice.formats.weights);
      choice.formats.activations =
          activations.value_or(choice.formats.activations);
      choice.asked = choice.asked || activations.has_value();
    };
    const bool reached = quantised_ ? IsLowPrecision(choice.formats.weights)
                                    : FollowsNativePrecision(linear);
    if (reached) take(choice_.weights, choice_.activations);
    for (const LinearChoice& one : choice_.linears) {
      if (one.linear == linear) take(one.weights, one.activations);
    }
    if (!IsLowPrecision(choice.formats.activations)) {
      choice.formats.activations = resolved_.formats.hidden;
    }
    return choice;
  }

  absl::StatusOr<GemmFormats> Resolve(const std::vector<LinearFormats>& own,
                                      LinearClass linear) {
    const Choice choice = Chosen(own, linear);
    GemmFormats formats = choice.formats;
    absl::StatusOr<ComputeFormat> compute =
        ResolveGemm(formats.weights, formats.activations, device_, stack_);
    if (!compute.ok() && !choice.asked &&
        HasWeightOnlyKernels(formats.activations)) {
      lacking_.Add(formats.activations, linear);
      formats.activations = resolved_.formats.hidden;
      compute =
          ResolveGemm(formats.weights, formats.activations, device_, stack_);
    }
    if (!compute.ok()) return compute.status();
    formats.compute = compute->format;
    return formats;
  }

  // What follows the graph's precision. Where nothing does, the device need not
  // be able to compute in it.
  absl::Status SetMain() {
    PassFormats& formats = resolved_.formats;
    const absl::StatusOr<GemmFormats> main =
        Resolve({}, LinearClass::kFeedForward);
    lacking_.rows.clear();
    if (main.ok()) {
      formats.precision.weights = main->weights;
      formats.precision.activations = main->activations;
      formats.compute = main->compute;
      return absl::OkStatus();
    }
    for (const LayerKind& kind : spec_.layer_kinds) {
      for (LinearClass linear : AllLinearClasses()) {
        const bool follows =
            FollowsNativePrecision(linear) && HasLinear(kind, linear) &&
            std::none_of(kind.formats.begin(), kind.formats.end(),
                         [linear](const LinearFormats& formats_of_class) {
                           return formats_of_class.linear == linear;
                         });
        if (follows) return main.status();
      }
    }
    formats.compute = formats.head_compute;
    return absl::OkStatus();
  }

  void Remember(const GemmFormats& formats, LinearClass linear) {
    const bool narrow = IsLowPrecision(formats.weights);
    if (!FollowsNativePrecision(linear) && !narrow) return;
    present_.Add(linear);
    if (formats.weight_only()) weight_only_.Add(formats, linear);
    const Precision& main = resolved_.formats.precision;
    if (formats.weights != main.weights ||
        formats.activations != main.activations) {
      different_.Add(formats, linear);
    }
  }

  void Describe() {
    std::vector<std::string>& assumptions = resolved_.assumptions;
    resolved_.weight_only = !weight_only_.rows.empty();
    for (const auto& [format, classes] : lacking_.rows) {
      assumptions.push_back(absl::StrCat(
          "the checkpoint's ", TraitsOf(format).name, " activations (",
          classes.Names(), ") have no unit on this device: inputs stay in ",
          TraitsOf(resolved_.formats.hidden).name,
          ", as engines' weight-only "
          "kernels read them"));
    }
    for (const auto& [formats, classes] : weight_only_.rows) {
      assumptions.push_back(
          absl::StrCat(WeightOnlyAssumption(formats),
                       classes.all == present_.all
                           ? ""
                           : absl::StrCat(" (", classes.Names(), ")")));
    }
    for (const auto& [formats, classes] : different_.rows) {
      assumptions.push_back(absl::StrCat(
          "beside ", TraitsOf(resolved_.formats.precision.weights).name,
          " weights: ", classes.Names(), " with ",
          TraitsOf(formats.weights).name, " weights and ",
          TraitsOf(formats.activations).name, " inputs in some or all layers"));
    }
  }

  const FormatChoice& choice_;
  const ModelGraphSpec& spec_;
  const Device& device_;
  const KernelStack& stack_;
  bool quantised_ = false;
  ResolvedFormats resolved_;
  Classes present_;
  ClassesBy<GemmFormats> weight_only_;
  ClassesBy<GemmFormats> different_;
  ClassesBy<Format> lacking_;
};

}  // namespace

absl::StatusOr<ResolvedFormats> ResolveGraphFormats(const FormatChoice& choice,
                                                    const ModelGraphSpec& spec,
                                                    const Device& device,
                                                    const KernelStack& stack) {
  return Resolution(choice, spec, device, stack).Run();
}

}  // namespace mansard::model
