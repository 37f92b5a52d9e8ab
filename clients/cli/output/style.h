// Colours, where the reader's terminal has them, and how tables are drawn.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace mansard::cli {

// What a colour stands for. One colour a resource, everywhere; a bound has the
// colour of its family.
enum class Tone {
  kPlain,
  kStrong,
  kFaint,
  kGood,
  kBad,
  kCompute,
  kMemory,
  kCommunication,
  kOverhead,
};

// "hbm" -> kMemory; kPlain where unknown.
Tone ToneOfResource(absl::string_view resource);

class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  // Tables for Markdown; no colours.
  static Style Markdown() {
    Style style(false);
    style.markdown_ = true;
    return style;
  }

  bool markdown() const { return markdown_; }
  std::string Paint(Tone tone, absl::string_view text) const;

 private:
  bool color_;
  bool markdown_ = false;
};

// Colour unless --no-color, NO_COLOR, TERM=dumb, or standard output is no
// terminal.
bool WantsColor(bool no_color_flag);

}  // namespace mansard::cli
