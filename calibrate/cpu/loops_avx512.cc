#if defined(__x86_64__)
#define MANSARD_LOOPS kAvx512Loops
#define MANSARD_LOOPS_NAME "avx512"
#define MANSARD_VECTOR_BYTES 64
#include "calibrate/cpu/loops_body.h"
#endif
