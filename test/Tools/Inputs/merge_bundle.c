/* Merges two parts by a bundle, without a compiler in the program:
 *   fa-run --merge "parts=2 d=8 type=f32 lse" --arch=host --emit=bundle -o DIR
 */
#include "merge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { rows = 20, dim = 8 };

static float outs[3][rows][dim], lses[3][rows];

static faArgument tensor(float *data, int isLse) {
  static const int64_t sizes[4] = {1, 1, rows, dim};
  faArgument argument;
  memset(&argument, 0, sizeof argument);
  argument.isTensor = 1;
  argument.type = FA_F32;
  argument.data = data;
  argument.rank = isLse ? 3 : 4;
  argument.sizes = sizes;
  return argument;
}

int main(void) {
  faBundle bundle = NULL;
  faBundlePlan plan = NULL;
  faBundleOptions options;
  faArgument arguments[6];
  double worst = 0;
  for (int r = 0; r < rows; ++r) {
    lses[0][r] = sinf(r);
    lses[1][r] = r == 3 ? -INFINITY : cosf(r);
    for (int d = 0; d < dim; ++d) {
      outs[0][r][d] = r + d;
      outs[1][r][d] = r == 3 ? NAN : r - d;
    }
  }
  for (int n = 0; n < 6; ++n)
    arguments[n] = tensor(n % 2 ? lses[n / 2] : outs[n / 2][0], n % 2);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = "cpu";
  options.functions = merge_functions;
  options.numFunctions = merge_numFunctions;
  if (faBundleOpenEmbedded(merge_files, merge_numFiles, &bundle) ||
      faBundlePrepare(bundle, &options, &plan) ||
      faBundlePlanLaunch(plan, NULL, arguments, 6)) {
    fprintf(stderr, "%s\n", faBundleGetLastErrorMessage());
    return 1;
  }
  for (int r = 0; r < rows; ++r) {
    double a = exp(lses[0][r]), b = exp(lses[1][r]);
    worst = fmax(worst, fabs(lses[2][r] - log(a + b)));
    for (int d = 0; d < dim; ++d) {
      double other = r == 3 ? 0 : outs[1][r][d];
      double expected = (a * outs[0][r][d] + b * other) / (a + b);
      worst = fmax(worst, fabs(outs[2][r][d] - expected));
    }
  }
  printf("largest error %g\n", worst);
  faBundlePlanDestroy(plan);
  faBundleClose(bundle);
  return worst < 4e-6 ? 0 : 1;
}
