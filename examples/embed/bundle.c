/*===- bundle.c - attention that was compiled ahead of time ---------------===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The build runs
|*   fa-run --attention "d=64 type=f32" --arch=host --emit=bundle -o bundle
|* and this program links bundle/attention.cpu.o and libflashtile-rt. It has no
|* compiler in it and opens no file.
|*
\*===----------------------------------------------------------------------===*/

#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { heads = 2, length = 50, dim = 64 };

static float q[heads][length][dim], k[heads][length][dim],
    v[heads][length][dim], out[heads][length][dim];

/* The largest difference from attention computed in double precision. */
static double check(double scale) {
  double worst = 0;
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < length; ++i) {
      double o[dim] = {0}, sum = 0;
      for (int j = 0; j < length; ++j) {
        double dot = 0, p;
        for (int d = 0; d < dim; ++d)
          dot += (double)q[h][i][d] * k[h][j][d];
        sum += p = exp(scale * dot);
        for (int d = 0; d < dim; ++d)
          o[d] += p * v[h][j][d];
      }
      for (int d = 0; d < dim; ++d)
        worst = fmax(worst, fabs(o[d] / sum - out[h][i][d]));
    }
  return worst;
}

static faArgument tensor(void *data) {
  static const int64_t sizes[4] = {1, heads, length, dim};
  faArgument argument;
  memset(&argument, 0, sizeof argument);
  argument.isTensor = 1;
  argument.type = FA_F32;
  argument.data = data;
  argument.rank = 4;
  argument.sizes = sizes;
  return argument;
}

int main(void) {
  faBundle bundle = NULL;
  faBundlePlan plan = NULL;
  faBundleOptions options;
  faArgument arguments[5];
  double error;
  for (int n = 0; n < heads * length * dim; ++n) {
    (&q[0][0][0])[n] = sinf(0.1f * (float)n);
    (&k[0][0][0])[n] = cosf(0.3f * (float)n);
    (&v[0][0][0])[n] = sinf(0.7f * (float)n);
  }
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = "cpu";
  options.functions = attention_functions;
  options.numFunctions = attention_numFunctions;
  memset(arguments, 0, sizeof arguments);
  arguments[0] = tensor(q);
  arguments[1] = tensor(k);
  arguments[2] = tensor(v);
  arguments[3].type = FA_F32;
  arguments[3].f32 = 0.125f;
  arguments[4] = tensor(out);
  if (faBundleOpenEmbedded(attention_files, attention_numFiles, &bundle) ||
      faBundlePrepare(bundle, &options, &plan) ||
      faBundlePlanLaunch(plan, NULL, arguments, 5)) {
    fprintf(stderr, "%s\n", faBundleGetLastErrorMessage());
    return 1;
  }
  error = check(0.125);
  printf("largest error %g\n", error);
  faBundlePlanDestroy(plan);
  faBundleClose(bundle);
  return error < 2e-6 ? 0 : 1;
}
