//===- OddTanh.h - tanh to a wanted error -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_ODDTANH_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_ODDTANH_H

#include <vector>

namespace fa {

/// x (c0 + c1 x² + ...), which is tanh x for |x| up to `bound`, but for
/// `error`, an absolute one. The last digits of f32 are not in it.
struct OddTanh {
  double bound = 0, error = 0;
  std::vector<double> coefficients;
};

/// The polynomial with so many coefficients (1 to 4) whose error up to `bound`
/// (at most 0.5) is least, nearly: Taylor's series of degree 17, less multiples
/// of Chebyshev's polynomials for the terms that are left out.
OddTanh oddTanh(unsigned terms, double bound);

/// The one with so many coefficients and this error whose bound is largest.
OddTanh oddTanhWithin(unsigned terms, double error);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_ODDTANH_H
