/* Creates a context and a plan with structs as large as the header says. */
#include <fa/fa.h>

#include <stdio.h>
#include <string.h>

/* The sizes of this version on machines of 64 bits: a member was added since
 * the header that is older, and none was moved. */
enum { optionsSize = 168, descSize = 128 };

int main(void) {
  faContextOptions options;
  faAttentionDesc desc;
  faContext context = NULL;
  faPlan plan = NULL;
  memset(&options, 0, sizeof options);
  memset(&desc, 0, sizeof desc);
  options.size = sizeof options;
  options.threads = 1;
  desc.size = sizeof desc;
  desc.type = FA_F32;
  desc.headDim = 16;
  desc.hasLse = 1;
  if (faContextCreate(&options, &context) ||
      faPlanCreateFromAttention(context, &desc, &plan)) {
    fprintf(stderr, "%s\n", faGetLastErrorMessage());
    return 1;
  }
  faPlanDestroy(plan);
  faContextDestroy(context);
  printf("older than the library: %d\n",
         sizeof options < optionsSize && sizeof desc < descSize);
  return 0;
}
