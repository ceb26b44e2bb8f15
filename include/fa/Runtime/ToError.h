//===- ToError.h - failures of lib/Launch as LLVM's errors ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TOERROR_H
#define FA_RUNTIME_TOERROR_H

#include "fa/Launch/Text.h"

#include "llvm/Support/Error.h"

namespace fa {

inline llvm::Error toError(const Failure &failure) {
  return failure ? llvm::createStringError(failure.message())
                 : llvm::Error::success();
}

template <typename T> llvm::Expected<T> toExpected(Result<T> result) {
  if (!result)
    return toError(result.takeFailure());
  return std::move(*result);
}

} // namespace fa

#endif // FA_RUNTIME_TOERROR_H
