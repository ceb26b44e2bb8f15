// Precompiled for unit tests.
#include "pch_llvm.h"

#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>
