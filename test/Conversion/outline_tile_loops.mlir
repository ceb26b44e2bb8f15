// RUN: fa-opt %s --split-input-file --outline-tile-loops | FileCheck %s
// The twin: loops that are not marked stay.
// RUN: sed s/fa.tile_loop/fa.other_loop/ %s | fa-opt --split-input-file --outline-tile-loops | not FileCheck %s

// Two loops: what comes of arguments alone is computed again, what is read of
// other memory is passed; a loop without a trip is not called.
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[PID:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %[[WORDS:.*]]: !llvm.ptr {llvm.noalias}, %[[SCRATCH:[a-z0-9]*]]:
// CHECK: %[[LENGTH:.*]] = memref.load
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[ZERO:.*]], %[[LENGTH]]
// CHECK: scf.if %[[SOME]] {
// CHECK-NEXT: call @kernel.loop1(%[[PID]], {{.*}}, %[[WORDS]], %[[SCRATCH]], %[[LENGTH]])
// CHECK: scf.if
// CHECK-NEXT: call @kernel.loop2({{.*}}, %[[LENGTH]])
// CHECK-NOT: scf.for
// CHECK: return
// CHECK-LABEL: func.func private @kernel.loop1(
// CHECK-SAME: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %[[END:.*]]: index) {
// CHECK: %[[BEGIN:.*]] = arith.constant 0
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NOT: fa.tile_loop
// CHECK: func.func private @kernel.loop2(
// CHECK: llvm.load
// CHECK: scf.for
// CHECK-NOT: fa.tile_loop
func.func @kernel(%pid: i64, %1: i64, %2: i64, %words: !llvm.ptr {llvm.noalias},
                  %scratch: !llvm.ptr {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %word = llvm.getelementptr %words[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %address = llvm.load %word : !llvm.ptr -> i64
  %pointer = llvm.inttoptr %address : i64 to !llvm.ptr
  %lengths = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to memref<1xindex>
  %data = builtin.unrealized_conversion_cast %scratch : !llvm.ptr to memref<?xf32>
  %output = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to memref<?xf32>
  %length = memref.load %lengths[%c0] : memref<1xindex>
  %x = arith.constant 1.0 : f32
  scf.for %k = %c0 to %length step %c32 {
    memref.store %x, %data[%k] : memref<?xf32>
  } {fa.tile_loop}
  scf.for %k = %length to %c64 step %c32 {
    memref.store %x, %output[%k] : memref<?xf32>
  } {fa.tile_loop}
  return
}

// -----

// One loop is the kernel. So is one that reads what cannot be passed.
// CHECK-LABEL: func.func @one(
// CHECK: scf.for
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @views(
// CHECK: %[[CHOSEN:.*]] = scf.if
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[CHOSEN]]
// CHECK: call @views.loop2
// CHECK: func.func private @views.loop2
func.func @one(%pid: i64, %1: i64, %2: i64, %words: !llvm.ptr, %scratch: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = arith.constant 1.0 : f32
  %data = builtin.unrealized_conversion_cast %scratch : !llvm.ptr to memref<?xf32>
  scf.for %k = %c0 to %c32 step %c32 {
    memref.store %x, %data[%k] : memref<?xf32>
  } {fa.tile_loop}
  return
}
func.func @views(%pid: i64, %1: i64, %2: i64, %words: !llvm.ptr, %scratch: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = arith.constant 1.0 : f32
  %data = builtin.unrealized_conversion_cast %scratch : !llvm.ptr to memref<?xf32>
  %other = builtin.unrealized_conversion_cast %words : !llvm.ptr to memref<?xf32>
  %c1 = arith.constant 1 : i64
  %is = arith.cmpi eq, %pid, %c1 : i64
  %chosen = scf.if %is -> memref<?xf32> {
    scf.yield %data : memref<?xf32>
  } else {
    scf.yield %other : memref<?xf32>
  }
  scf.for %k = %c0 to %c32 step %c32 {
    memref.store %x, %chosen[%k] : memref<?xf32>
  } {fa.tile_loop}
  scf.for %k = %c0 to %c32 step %c32 {
    memref.store %x, %data[%k] : memref<?xf32>
  } {fa.tile_loop}
  return
}
