#include "model/estimate/remedies.h"
