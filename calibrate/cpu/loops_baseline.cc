#define MANSARD_LOOPS kBaselineLoops
#define MANSARD_LOOPS_NAME "baseline"
#define MANSARD_VECTOR_BYTES 16
#include "calibrate/cpu/loops_body.h"
