//===- Checksum.h - notices a file that changed -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CHECKSUM_H
#define FA_LAUNCH_CHECKSUM_H

#include <cstdint>
#include <string>
#include <string_view>

namespace fa {

/// FNV-1a of 64 bits (RFC 9923) as 16 hexadecimal digits: finds accidents, not
/// attacks.
inline std::string checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

} // namespace fa

#endif // FA_LAUNCH_CHECKSUM_H
