// The device code of the real module; see MirrorKernel.h.
#include "MirrorKernel.h"
