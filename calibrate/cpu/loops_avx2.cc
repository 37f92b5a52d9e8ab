#if defined(__x86_64__)
#define MANSARD_LOOPS kAvx2Loops
#define MANSARD_LOOPS_NAME "avx2"
#define MANSARD_VECTOR_BYTES 32
#include "calibrate/cpu/loops_body.h"
#endif
