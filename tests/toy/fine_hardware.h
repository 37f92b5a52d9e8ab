// Toy hardware with a family of its own for every kernel that can have one.
#pragma once

#include "tests/toy/toy_hardware.h"

namespace mansard::testing {

// ToyHardware with 132 multiprocessors and, for the 16-bit formats and fp8, all
// families of model/hardware/fine_families.h, whose numbers are round and of
// the size of an H100's: tiles from 16 rows, splits, waves and limits are where
// such kernels have them.
ToyHardware FineHardware();

}  // namespace mansard::testing
