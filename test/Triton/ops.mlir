// The spellings of one operation in several versions, and what is printed of them.
// RUN: fa-opt %s | fa-opt | FileCheck %s

// CHECK-LABEL: tt.func public @caches(
// CHECK-SAME: %{{.*}}: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.of_tomorrow})
// CHECK-SAME: attributes {noinline = false}
tt.func public @caches(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.of_tomorrow}) attributes {noinline = false} {
  // CHECK: tt.load %{{.*}} cacheModifier = cg evictionPolicy = evict_last : !tt.ptr<f32>
  %a = tt.load %x cacheModifier = cg evictionPolicy = evict_last : !tt.ptr<f32>
  // CHECK: tt.load %{{.*}} {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_last>} : !tt.ptr<f32>
  %b = tt.load %x {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_last>} : !tt.ptr<f32>
  // CHECK: tt.load %{{.*}} {isVolatile = true, of_tomorrow = 3 : i32} : !tt.ptr<f32>
  %c = tt.load %x {isVolatile = true, of_tomorrow = 3 : i32} : !tt.ptr<f32>
  tt.return
}

// CHECK-LABEL: tt.func @descriptors
tt.func @descriptors(%x: !tt.ptr<f16>, %n: i32, %s: i64) {
  // CHECK: tt.make_tensor_descriptor %{{.*}}, [%{{.*}}, %{{.*}}], [%{{.*}}, %{{.*}}] : <f16>, <16x64xf16>
  %old = tt.make_tensor_descriptor %x, [%n, %n], [%s, %s] : <f16>, <tensor<16x64xf16>>
  %new = tt.make_tensor_descriptor %x, [%n, %n], [%s, %s] : <f16>, <16x64xf16>
  // CHECK-COUNT-2: tt.descriptor_load %{{.*}} : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>
  %a = tt.descriptor_load %old[%n, %n] : !tt.tensordesc<tensor<16x64xf16>> -> tensor<16x64xf16>
  %b = tt.descriptor_load %new[%n, %n] : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>
  tt.return
}

// CHECK-LABEL: tt.func @scaled
tt.func @scaled(%a: tensor<64x64xi8>, %s: tensor<64x2xi8>, %c: tensor<64x64xf32>) {
  // CHECK: tt.dot_scaled %{{.*}} scale %{{.*}}, %{{.*}}, %{{.*}} lhs = e5m2 rhs = e5m2 : tensor<64x64xi8>, tensor<64x2xi8> * tensor<64x64xi8> -> tensor<64x64xf32>
  %x = tt.dot_scaled %a, %s, %a, %c lhs = e5m2 rhs = e5m2 : tensor<64x64xi8>, tensor<64x2xi8> * tensor<64x64xi8> -> tensor<64x64xf32>
  // CHECK: tt.dot_scaled %{{.*}} scale %{{.*}}, %{{.*}} scale %{{.*}}, %{{.*}} lhs = e5m2 rhs = e4m3 {fastMath = true}
  %y = tt.dot_scaled %a scale %s, %a scale %s, %c lhs = e5m2 rhs = e4m3 {fastMath = true} : tensor<64x64xi8>, tensor<64x2xi8> * tensor<64x64xi8>, tensor<64x2xi8> -> tensor<64x64xf32>
  // CHECK: tt.dot_scaled %{{.*}}, %{{.*}} scale %{{.*}}, %{{.*}} lhs = e2m1 rhs = e4m3 : tensor<64x64xi8> * tensor<64x64xi8>, tensor<64x2xi8> ->
  %z = tt.dot_scaled %a, %a scale %s, %c lhs = e2m1 rhs = e4m3 : tensor<64x64xi8> * tensor<64x64xi8>, tensor<64x2xi8> -> tensor<64x64xf32>
  tt.return
}

// CHECK-LABEL: tt.func @barriers
tt.func @barriers() {
  // CHECK: gpu.barrier
  gpu.barrier
  // CHECK: ttg.barrier all
  ttg.barrier all
  // CHECK: ttg.barrier local|global_read
  ttg.barrier local|global_read
  tt.return
}

// Words that no version has yet.
// CHECK-LABEL: tt.func @words
tt.func @words(%a: tensor<16x16xf32>, %x: !tt.ptr<i32>, %i: i32) -> tensor<16x16xf32> {
  // CHECK: inputPrecision = fp32x9
  %d = tt.dot %a, %a, %a, inputPrecision = fp32x9 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  // CHECK: tt.atomic_rmw exotic, later, galaxy,
  %o = tt.atomic_rmw exotic, later, galaxy, %x, %i : (!tt.ptr<i32>, i32) -> i32
  tt.return %d : tensor<16x16xf32>
}
