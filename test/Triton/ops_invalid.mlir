// RUN: fa-opt %s --split-input-file --verify-diagnostics

tt.func @unknown(%x: !tt.ptr<f32>) {
  // expected-error @below {{custom op 'tt.load_of_tomorrow' is unknown}}
  %a = tt.load_of_tomorrow %x : !tt.ptr<f32>
  tt.return
}

// -----

tt.func @generic() {
  // expected-error @below {{unregistered operation 'tt.store_of_tomorrow'}}
  "tt.store_of_tomorrow"() : () -> ()
  tt.return
}

// -----

tt.func @syntax(%x: !tt.ptr<f32>) {
  // expected-error @below {{expected ':'}}
  %a = tt.load %x, !tt.ptr<f32>
  tt.return
}

// -----

tt.func @axis() {
  // expected-error @below {{expected x, y or z}}
  %a = tt.get_program_id w : i32
  tt.return
}

// -----

// expected-error @below {{expected the type of a block of static size}}
tt.func @descriptor(%x: !tt.tensordesc<f32>) {
  tt.return
}

// -----

tt.func @range() {
  // expected-error @below {{expects as many integers as its result has elements, found 64 elements, and 0 to before 32}}
  %a = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<64xi32>
  tt.return
}

// -----

tt.func @splat(%x: f32) {
  // expected-error @below {{expects a tile of its operand's type, found 'f32' and 'tensor<4xi32>'}}
  %a = tt.splat %x : f32 -> tensor<4xi32>
  tt.return
}

// -----

tt.func @expand(%x: tensor<4xf32>) {
  // expected-error @below {{expects an axis from 0 to 1, found 2}}
  %a = tt.expand_dims %x {axis = 2 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  tt.return
}

// -----

tt.func @expand_shape(%x: tensor<4xf32>) {
  // expected-error @below {{expects a dimension of 1 at axis 0, found 'tensor<4xf32>' and 'tensor<4x1xf32>'}}
  %a = tt.expand_dims %x {axis = 0 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  tt.return
}

// -----

tt.func @broadcast(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects dimensions of 1 or of the result's size, found 'tensor<4x2xf32>' and 'tensor<4x8xf32>'}}
  %a = tt.broadcast %x : tensor<4x2xf32> -> tensor<4x8xf32>
  tt.return
}

// -----

tt.func @reshape(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects as many elements as before, found 'tensor<4x2xf32>' and 'tensor<4xf32>'}}
  %a = tt.reshape %x : tensor<4x2xf32> -> tensor<4xf32>
  tt.return
}

// -----

tt.func @trans(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects an order of all dimensions and their sizes in it}}
  %a = tt.trans %x {order = array<i32: 0, 0>} : tensor<4x2xf32> -> tensor<4x4xf32>
  tt.return
}

// -----

tt.func @reduce(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects a dimension of its operands as axis, found 2 and 'tensor<4x2xf32>'}}
  %a = "tt.reduce"(%x) <{axis = 2 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    tt.reduce.return %l : f32
  }) : (tensor<4x2xf32>) -> tensor<4xf32>
  tt.return
}

// -----

tt.func @reduce_region(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects two arguments of its region for each operand, found 1}}
  %a = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%l: f32):
    tt.reduce.return %l : f32
  }) : (tensor<4x2xf32>) -> tensor<4xf32>
  tt.return
}

// -----

tt.func @reduce_results(%x: tensor<4x2xf32>) {
  // expected-error @below {{expects a result for each operand, found 2 operands and 1 results}}
  %a = "tt.reduce"(%x, %x) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %r: f32, %s: f32, %t: f32):
    tt.reduce.return %l : f32
  }) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4xf32>
  tt.return
}

// -----

tt.func @addptr(%x: tensor<4x!tt.ptr<f32>>, %i: i32) {
  // expected-error @below {{expects an offset for each address, found 'tensor<4x!tt.ptr<f32>>' and 'i32'}}
  %a = tt.addptr %x, %i : tensor<4x!tt.ptr<f32>>, i32
  tt.return
}

// -----

tt.func @mask(%x: tensor<4x!tt.ptr<f32>>, %m: tensor<4xi32>) {
  // expected-note @above {{prior use here}}
  // expected-error @below {{expects different type than prior uses: 'tensor<4xi1>' vs 'tensor<4xi32>'}}
  %a = tt.load %x, %m : tensor<4x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func @returns() -> f32 {
  // expected-error @below {{expects the types of the function's results, found}}
  tt.return
}

// -----

tt.func @calls() {
  // expected-error @below {{expects a function of this text, found none named @nobody}}
  tt.call @nobody() : () -> ()
  tt.return
}

// -----

tt.func private @callee(%x: f32) -> f32 {
  tt.return %x : f32
}
tt.func @calls_wrongly(%x: f16) {
  // expected-error @below {{expects operands and results of '(f32) -> f32'}}
  %a = tt.call @callee(%x) : (f16) -> f16
  tt.return
}

// -----

tt.func @scaled(%a: tensor<64x64xi8>, %s: tensor<64x2xi8>, %c: tensor<64x64xf32>) {
  // expected-error @below {{expected a type for each operand, found 3 types and 4 operands}}
  %x = tt.dot_scaled %a, %s, %a, %c lhs = e5m2 rhs = e5m2 : tensor<64x64xi8> * tensor<64x64xi8> -> tensor<64x64xf32>
  tt.return
}
