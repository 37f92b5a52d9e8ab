// How RapidJSON reads: the check of the text and the document alike.
#pragma once

#include <rapidjson/reader.h>

namespace mansard::model {

// Iterative, so that nesting costs heap and never stack.
inline constexpr unsigned kJsonParseFlags =
    rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
    rapidjson::kParseValidateEncodingFlag;

}  // namespace mansard::model
