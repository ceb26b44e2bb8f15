/*===- embed.c - a kernel of one's own in a C program
----------------------===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "fa/fa.h"

#include <stdio.h>
#include <string.h>

static const char *program =
    "tile.kernel @axpy(%x: memref<?xf32> {tile.access = #tile.access<in>},\n"
    "    %a: f32, %y: memref<?xf32> {tile.access = #tile.access<inout>})\n"
    "    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>,\n"
    "                grid_sizes = array<i64: 0, 0>} {\n"
    "  %c64 = arith.constant 64 : index\n"
    "  %pid = tile.program_id 0\n"
    "  %at = arith.muli %pid, %c64 : index\n"
    "  %0 = tile.load %x[%at] : memref<?xf32> -> tensor<64xf32>\n"
    "  %1 = tile.load %y[%at] : memref<?xf32> -> tensor<64xf32>\n"
    "  %2 = tile.broadcast %a : f32 -> tensor<64xf32>\n"
    "  %3 = arith.mulf %0, %2 : tensor<64xf32>\n"
    "  %4 = arith.addf %1, %3 : tensor<64xf32>\n"
    "  tile.store %4, %y[%at] : tensor<64xf32>, memref<?xf32>\n"
    "  tile.return\n"
    "}\n";

static faArgument vector(float *data, const int64_t *size) {
  faArgument argument;
  memset(&argument, 0, sizeof argument);
  argument.isTensor = 1;
  argument.type = FA_F32;
  argument.data = data;
  argument.rank = 1;
  argument.sizes = size;
  return argument;
}

int main(void) {
  float x[100], y[100];
  int64_t size = 100;
  faContext context = NULL;
  faPlan plan = NULL;
  faModuleDesc desc = {sizeof desc, program, 0, NULL};
  faArgument arguments[3];
  int failed;
  for (int n = 0; n < 100; ++n) {
    x[n] = (float)n;
    y[n] = 1;
  }
  desc.length = strlen(program);
  memset(arguments, 0, sizeof arguments);
  arguments[0] = vector(x, &size);
  arguments[1].type = FA_F32;
  arguments[1].f32 = 2;
  arguments[2] = vector(y, &size);
  failed = faContextCreate(NULL, &context) ||
           faPlanCreateFromModule(context, &desc, &plan) ||
           faPlanLaunch(plan, arguments, 3);
  if (failed)
    fprintf(stderr, "%s\n", faGetLastErrorMessage());
  for (int n = 0; n < 100; ++n)
    failed |= y[n] != 1 + 2 * (float)n;
  faPlanDestroy(plan);
  faContextDestroy(context);
  printf(failed ? "wrong\n" : "right\n");
  return failed;
}
