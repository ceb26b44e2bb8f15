/* The handlers of libflashtile-jax.so, called as XLA calls them, with functions
 * of XLA's and of the library's that say what they are asked for. No card is
 * needed: what would run there is printed. */
#include "fa/fa.h"
#include "xla/ffi/api/c_api.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

extern XLA_FFI_Error *flashtileJaxLaunchCpu(XLA_FFI_CallFrame *frame);
extern XLA_FFI_Error *flashtileJaxLaunchCuda(XLA_FFI_CallFrame *frame);

/* As Host of python/jax_extension/Plans.h. */
typedef struct Host {
  size_t size;
  faStatus (*launch)(faPlan, const faArgument *, size_t);
  faStatus (*enqueueWith)(faPlan, const faLaunchOptions *, const faArgument *,
                          size_t);
  faStatus (*getLaunchInfo)(faPlan, const faArgument *, size_t, faLaunchInfo *);
  const char *(*lastError)(void);
  faPlan (*prepare)(const char *, int32_t, char *, size_t);
} Host;
extern int32_t flashtileJaxRegister(const Host *host);

/*===--- FlashTile's part
 * --------------------------------------------------===*/

static size_t wantedWorkspace;
static faStatus result;

static void print(const faArgument *arguments, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    const faArgument *a = arguments + n;
    if (!a->isTensor) {
      printf("  scale %g\n", a->f32);
      continue;
    }
    printf("  type %d at %zu:", a->type, (size_t)a->data);
    for (int32_t d = 0; d < a->rank; ++d)
      printf(" %lld by %lld", (long long)a->sizes[d], (long long)a->strides[d]);
    printf("\n");
  }
}

static faStatus launch(faPlan plan, const faArgument *arguments, size_t count) {
  printf("launch %zu\n", (size_t)plan);
  print(arguments, count);
  return result;
}

static faStatus enqueueWith(faPlan plan, const faLaunchOptions *options,
                            const faArgument *arguments, size_t count) {
  (void)arguments;
  printf("enqueue %zu on %zu with %zu bytes at %zu, %zu arguments\n",
         (size_t)plan, (size_t)options->stream, options->workspaceSize,
         (size_t)options->workspace, count);
  return result;
}

static faStatus getLaunchInfo(faPlan plan, const faArgument *arguments,
                              size_t count, faLaunchInfo *info) {
  (void)plan, (void)arguments, (void)count;
  info->workspaceSize = wantedWorkspace;
  return FA_SUCCESS;
}

static const char *lastError(void) { return "it failed"; }

static faPlan prepare(const char *key, int32_t card, char *message,
                      size_t capacity) {
  printf("prepare %s on %d\n", key, card);
  if (!strcmp(key, "none"))
    return snprintf(message, capacity, "there is no plan"), NULL;
  return (faPlan)(size_t)(100 + card);
}

/*===--- XLA's part
 * --------------------------------------------------------===*/

static int32_t card;
static int mayAllocate = 1;

static XLA_FFI_Error *createError(XLA_FFI_Error_Create_Args *args) {
  printf("error %d: %s\n", args->errc, args->message);
  return (XLA_FFI_Error *)1;
}
static void destroyError(XLA_FFI_Error_Destroy_Args *args) { (void)args; }
static XLA_FFI_Error *getStream(XLA_FFI_Stream_Get_Args *args) {
  args->stream = (void *)7;
  return NULL;
}
static XLA_FFI_Error *getCard(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = card;
  return NULL;
}
static XLA_FFI_Error *allocate(XLA_FFI_DeviceMemory_Allocate_Args *args) {
  printf("allocate %zu, aligned to %zu\n", args->size, args->alignment);
  args->data = (void *)4096;
  return mayAllocate ? NULL : (XLA_FFI_Error *)2;
}
static XLA_FFI_Error *release(XLA_FFI_DeviceMemory_Free_Args *args) {
  printf("free %zu at %zu\n", args->size, (size_t)args->data);
  return NULL;
}

static XLA_FFI_Api api = {.struct_size = sizeof(XLA_FFI_Api),
                          .XLA_FFI_Error_Create = createError,
                          .XLA_FFI_Error_Destroy = destroyError,
                          .XLA_FFI_Stream_Get = getStream,
                          .XLA_FFI_DeviceOrdinal_Get = getCard,
                          .XLA_FFI_DeviceMemory_Allocate = allocate,
                          .XLA_FFI_DeviceMemory_Free = release};

/* A call with one tensor of each kind, and a result. */
static size_t call(XLA_FFI_Handler *handler, const char *key) {
  int64_t dims[] = {2, 3, 4, 8}, halves[] = {4}, number = 3, swapped = 1;
  float scale = 0.5f;
  XLA_FFI_Buffer buffers[] = {{sizeof(XLA_FFI_Buffer), NULL,
                               XLA_FFI_DataType_BF16, (void *)64, 4, dims},
                              {sizeof(XLA_FFI_Buffer), NULL,
                               XLA_FFI_DataType_S32, (void *)128, 1, dims},
                              {sizeof(XLA_FFI_Buffer), NULL,
                               XLA_FFI_DataType_U32, (void *)192, 1, halves},
                              {sizeof(XLA_FFI_Buffer), NULL,
                               XLA_FFI_DataType_F32, (void *)256, 3, dims}};
  void *args[] = {buffers, buffers + 1, buffers + 2}, *rets[] = {buffers + 3};
  XLA_FFI_ByteSpan names[] = {
      {"key", 3}, {"scale", 5}, {"scale_at", 8}, {"swapped", 7}};
  XLA_FFI_ByteSpan *namesAt[] = {names, names + 1, names + 2, names + 3};
  XLA_FFI_ByteSpan text = {key, strlen(key)};
  XLA_FFI_Scalar numbers[] = {{XLA_FFI_DataType_F32, &scale},
                              {XLA_FFI_DataType_S64, &number},
                              {XLA_FFI_DataType_S64, &swapped}};
  void *attrs[] = {&text, numbers, numbers + 1, numbers + 2};
  XLA_FFI_AttrType kinds[] = {XLA_FFI_AttrType_STRING, XLA_FFI_AttrType_SCALAR,
                              XLA_FFI_AttrType_SCALAR, XLA_FFI_AttrType_SCALAR};
  XLA_FFI_CallFrame frame = {
      .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = &api,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .args = {XLA_FFI_Args_STRUCT_SIZE, NULL, 3, NULL, args},
      .rets = {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, NULL, rets},
      .attrs = {XLA_FFI_Attrs_STRUCT_SIZE, NULL, 4, kinds, namesAt, attrs}};
  return (size_t)handler(&frame);
}

int main(void) {
  Host host = {sizeof(host),  launch,    enqueueWith,
               getLaunchInfo, lastError, prepare};
  Host other = host;
  other.size -= 8;
  assert(flashtileJaxRegister(&other) && !flashtileJaxRegister(&host));

  XLA_FFI_Metadata metadata = {.struct_size = XLA_FFI_Metadata_STRUCT_SIZE};
  XLA_FFI_Metadata_Extension extension = {
      {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata,
       NULL},
      &metadata};
  XLA_FFI_CallFrame asked = {.api = &api,
                             .extension_start = &extension.extension_base};
  assert(!flashtileJaxLaunchCuda(&asked));
  printf("version %d.%d\n", metadata.api_version.major_version,
         metadata.api_version.minor_version);

  printf("CPU\n");
  assert(!call(flashtileJaxLaunchCpu, "a"));
  assert(!call(flashtileJaxLaunchCpu, "a"));
  printf("card 0\n");
  assert(!call(flashtileJaxLaunchCuda, "a"));
  printf("card 1, with workspace\n");
  card = 1, wantedWorkspace = 512;
  assert(!call(flashtileJaxLaunchCuda, "a"));
  printf("no memory\n");
  mayAllocate = 0;
  assert(call(flashtileJaxLaunchCuda, "a") == 2);
  printf("failures\n");
  mayAllocate = 1, result = FA_ERROR_INVALID_ARGUMENT;
  assert(call(flashtileJaxLaunchCuda, "a") == 1 &&
         call(flashtileJaxLaunchCpu, "a") == 1);
  assert(call(flashtileJaxLaunchCpu, "none") == 1);
  return 0;
}
