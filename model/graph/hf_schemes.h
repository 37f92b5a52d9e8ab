// One quantisation object of a config.json or of its side file, by method.
#pragma once

#include "model/graph/hf_scheme.h"
#include "model/graph/json_object.h"

namespace mansard::model {

// Whose object it is: a config.json's names its method, MLX's and ModelOpt's
// own have none.
enum class SchemeOwner { kConfig, kMlx, kModelOpt };

// `scheme` comes with what the checkpoint has without the object. Violations
// for methods, bits and algorithms that no Format stands for.
void ReadScheme(const JsonObject& object, SchemeOwner owner, HfScheme& scheme,
                Violations& violations);

}  // namespace mansard::model
