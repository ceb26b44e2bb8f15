// RUN: fa-opt %s --triton-to-tile --split-input-file --verify-diagnostics

tt.func public @maximum(%x: !tt.ptr<i32>, %i: i32) {
  // expected-error @below {{'tt.atomic_rmw' op in kernel @maximum: expected a sum of f32, i32 or i64, found max of 'i32'}}
  %a = tt.atomic_rmw max, acq_rel, gpu, %x, %i : (!tt.ptr<i32>, i32) -> i32
  tt.return
}

// -----

tt.func public @half(%x: !tt.ptr<f16>, %i: f16) {
  // expected-error @below {{expected a sum of f32, i32 or i64, found fadd of 'f16'}}
  %a = tt.atomic_rmw fadd, acq_rel, gpu, %x, %i : (!tt.ptr<f16>, f16) -> f16
  tt.return
}

// -----

tt.func public @ticket(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %i: i32) {
  // expected-error @below {{'tt.atomic_rmw' op in kernel @ticket: no kernel reads what was there before}}
  %a = tt.atomic_rmw add, acq_rel, gpu, %x, %i : (!tt.ptr<i32>, i32) -> i32
  tt.store %y, %a : !tt.ptr<i32>
  tt.return
}

// -----

// expected-error @below {{kernel @bytes: argument 0 points to elements that no kernel has: '!tt.ptr<i8>'}}
tt.func public @bytes(%x: !tt.ptr<i8>) {
  tt.return
}

// -----

tt.func public @precision(%a: tensor<16x16xf32>) {
  tt.return
}
// expected-error @-3 {{kernel @precision: argument 0 is what no kernel has: 'tensor<16x16xf32>'}}

// -----

tt.func public @dot() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error @below {{no kernel has the precision 'fp32x9'}}
  %d = tt.dot %a, %a, %a, inputPrecision = fp32x9 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  tt.return
}

// -----

tt.func public @dot_of_bytes() {
  %a = arith.constant dense<1> : tensor<16x16xi8>
  %c = arith.constant dense<1> : tensor<16x16xi32>
  // expected-error @below {{no kernel has a dot of such elements: 'tensor<16x16xi8>', 'tensor<16x16xi8>' and 'tensor<16x16xi32>'}}
  %d = tt.dot %a, %a, %c : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  tt.return
}

// -----

tt.func public @one_address(%x: !tt.ptr<f32>) {
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error @below {{several elements have one address}}
  tt.store %xs, %one : tensor<16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @first() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %i = arith.constant dense<1> : tensor<16x16xi32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum of numbers, where these two are, and the merge of means and squares}}
  %r:2 = "tt.reduce"(%a, %i) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %j: i32, %y: f32, %k: i32):
    tt.reduce.return %x, %j : f32, i32
  }) : (tensor<16x16xf32>, tensor<16x16xi32>) -> (tensor<16xf32>, tensor<16xi32>)
  tt.return
}

// -----

tt.func public @last_of_equals() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %i = arith.constant dense<1> : tensor<16x16xi32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum of numbers, where these two are, and the merge of means and squares}}
  %r:2 = "tt.reduce"(%a, %i) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %j: i32, %y: f32, %k: i32):
    %equal = arith.cmpf oeq, %x, %y : f32
    %behind = arith.cmpi sgt, %j, %k : i32
    %tie = arith.andi %equal, %behind : i1
    %above = arith.cmpf ogt, %x, %y : f32
    %one = arith.ori %above, %tie : i1
    %v = arith.select %one, %x, %y : f32
    %w = arith.select %one, %j, %k : i32
    tt.reduce.return %v, %w : f32, i32
  }) : (tensor<16x16xf32>, tensor<16x16xi32>) -> (tensor<16xf32>, tensor<16xi32>)
  tt.return
}

// -----

// The value of one, the index of the other.
tt.func public @crossed() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %i = arith.constant dense<1> : tensor<16x16xi32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum of numbers, where these two are, and the merge of means and squares}}
  %r:2 = "tt.reduce"(%a, %i) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %j: i32, %y: f32, %k: i32):
    %above = arith.cmpf ogt, %x, %y : f32
    %v = arith.select %above, %x, %y : f32
    %w = arith.select %above, %k, %j : i32
    tt.reduce.return %v, %w : f32, i32
  }) : (tensor<16x16xf32>, tensor<16x16xi32>) -> (tensor<16xf32>, tensor<16xi32>)
  tt.return
}

// -----

// Integers without a sign.
tt.func public @unsigned_maximum() {
  %a = arith.constant dense<1> : tensor<16x16xi32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum of numbers}}
  %r = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%x: i32, %y: i32):
    %d = arith.maxui %x, %y : i32
    tt.reduce.return %d : i32
  }) : (tensor<16x16xi32>) -> tensor<16xi32>
  tt.return
}

// -----

tt.func public @sum_of_bytes() {
  %a = arith.constant dense<1> : tensor<16x16xi8>
  // expected-error @below {{no kernel reduces or scans such elements: 'tensor<16x16xi8>'}}
  %r = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%x: i8, %y: i8):
    %d = arith.addi %x, %y : i8
    tt.reduce.return %d : i8
  }) : (tensor<16x16xi8>) -> tensor<16xi8>
  tt.return
}

// -----

tt.func public @difference() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum}}
  %r = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %d = arith.addf %x, %x : f32
    tt.reduce.return %d : f32
  }) : (tensor<16x16xf32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func public @changing(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  // expected-error @below {{it carries addresses whose steps change in the loop}}
  %p = scf.for %k = %c0 to %n step %c1 iter_args(%p = %xs) -> (tensor<16x!tt.ptr<f32>>) : i32 {
    %q = tt.addptr %p, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %q : tensor<16x!tt.ptr<f32>>
  }
  tt.return
}

// -----

tt.func public @branches(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %which = arith.cmpi slt, %n, %c0 : i32
  // expected-error @below {{no kernel has branches but an early return}}
  cf.cond_br %which, ^one, ^two
^one:
  cf.br ^end
^two:
  cf.br ^end
^end:
  tt.return
}

// -----

tt.func public @nan(%x: !tt.ptr<f32>, %n: i32, %s: i64) {
  %d = tt.make_tensor_descriptor %x, [%n], [%s] {padding = 2 : i32} : <f32>, <16xf32>
  // expected-error @below {{no kernel has NaN for elements outside, only 0}}
  %a = tt.descriptor_load %d[%n] : !tt.tensordesc<16xf32> -> tensor<16xf32>
  tt.return
}

// -----

// A pointer of other steps than the one that the loop begins with.
tt.func public @changing_while(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  // expected-error @below {{'scf.while' op in kernel @changing_while: it carries addresses whose steps change in the loop}}
  %p = scf.while (%p = %xs) : (tensor<16x!tt.ptr<f32>>) -> tensor<16x!tt.ptr<f32>> {
    %more = arith.cmpi slt, %c0, %n : i32
    scf.condition(%more) %p : tensor<16x!tt.ptr<f32>>
  } do {
  ^bb0(%p: tensor<16x!tt.ptr<f32>>):
    %q = tt.addptr %p, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %q : tensor<16x!tt.ptr<f32>>
  }
  tt.return
}

// -----

// A step of what is handed to the body is computed before the condition.
tt.func public @stepping_while(%x: !tt.ptr<f32>, %n: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  // expected-error @below {{it carries addresses whose steps change in the loop}}
  %p = scf.while (%k = %c0) : (i32) -> tensor<16x!tt.ptr<f32>> {
    %step = tt.load %n : !tt.ptr<i32>
    %steps = tt.splat %step : i32 -> tensor<16xi32>
    %to = arith.muli %at, %steps : tensor<16xi32>
    %q = tt.addptr %xs, %to : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %more = arith.cmpi slt, %k, %step : i32
    scf.condition(%more) %q : tensor<16x!tt.ptr<f32>>
  } do {
  ^bb0(%p: tensor<16x!tt.ptr<f32>>):
    scf.yield %c0 : i32
  }
  tt.return
}

// -----

tt.func public @dividing_while(%x: !tt.ptr<f32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %enough = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %enough, ^end, ^rest
^end:
  tt.return
^rest:
  %k = scf.while (%k = %pid) : (i32) -> i32 {
    // expected-error @below {{'arith.divsi' op in kernel @dividing_while: it stands in a loop's condition, which is computed where a branch or an early return has left, too}}
    %q = arith.divsi %k, %n : i32
    %more = arith.cmpi slt, %q, %n : i32
    scf.condition(%more) %k : i32
  } do {
  ^bb0(%k: i32):
    %next = arith.addi %k, %c1 : i32
    scf.yield %next : i32
  }
  tt.return
}

// -----

tt.func public @product_so_far(%x: !tt.ptr<f32>) {
  %two = arith.constant dense<2.0> : tensor<16xf32>
  // expected-error @below {{'tt.scan' op in kernel @product_so_far: no kernel has a scan but the sum, the maximum and the minimum of numbers}}
  %r = "tt.scan"(%two) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    tt.scan.return %p : f32
  }) : (tensor<16xf32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func public @two_scans(%x: !tt.ptr<f32>) {
  %two = arith.constant dense<2.0> : tensor<16xf32>
  // expected-error @below {{'tt.scan' op in kernel @two_scans: no kernel has a scan but the sum, the maximum and the minimum of numbers}}
  %r:2 = "tt.scan"(%two, %two) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %p = arith.addf %a, %c : f32
    tt.scan.return %p, %b : f32, f32
  }) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  tt.return
}

// -----

tt.func public @scanned_bytes(%x: !tt.ptr<f32>) {
  %two = arith.constant dense<2> : tensor<16xi8>
  // expected-error @below {{'tt.scan' op in kernel @scanned_bytes: no kernel reduces or scans such elements: 'tensor<16xi8>'}}
  %r = "tt.scan"(%two) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i8, %b: i8):
    %p = arith.addi %a, %b : i8
    tt.scan.return %p : i8
  }) : (tensor<16xi8>) -> tensor<16xi8>
  tt.return
}

// -----

tt.func public @counted_bytes(%x: !tt.ptr<f32>) {
  %two = arith.constant dense<2> : tensor<16xi8>
  // expected-error @below {{'tt.histogram' op in kernel @counted_bytes: expected counts of a vector of integers of 32 or 64 bits in such integers, found 'tensor<4xi32>' of 'tensor<16xi8>'}}
  %r = tt.histogram %two : tensor<16xi8> -> tensor<4xi32>
  tt.return
}

// -----

// Of values that are as large, neither.
tt.func public @above_alone() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error @below {{no kernel has a reduction but the sum, the maximum and the minimum of numbers}}
  %r = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %above = arith.cmpf ogt, %x, %y : f32
    %zero = arith.constant 0.0 : f32
    %v = arith.select %above, %x, %zero : f32
    tt.reduce.return %v : f32
  }) : (tensor<16x16xf32>) -> tensor<16xf32>
  tt.return
}

// -----

// Squares that forget how much the first part weighs.
tt.func public @moments() {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error @below {{and the merge of means and squares}}
  %r:3 = "tt.reduce"(%a, %a, %a) <{axis = 1 : i32}> ({
  ^bb0(%m: f32, %s: f32, %w: f32, %n: f32, %t: f32, %v: f32):
    %zero = arith.constant 0.0 : f32
    %d = arith.subf %n, %m : f32
    %all = arith.addf %w, %v : f32
    %none = arith.cmpf oeq, %all, %zero : f32
    %part = arith.divf %v, %all : f32
    %r = arith.select %none, %zero, %part : f32
    %step = arith.mulf %d, %r : f32
    %mean = arith.addf %m, %step : f32
    %sum = arith.addf %s, %t : f32
    %square = arith.mulf %d, %step : f32
    %squares = arith.addf %sum, %square : f32
    tt.reduce.return %mean, %squares, %all : f32, f32, f32
  }) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  tt.return
}

// -----

tt.func public @bessel() {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error @below {{no kernel has the function '__nv_j0f'}}
  %b = tt.extern_elementwise %a {libname = "", libpath = "", pure = true, symbol = "__nv_j0f"} : (tensor<16xf32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func public @double() {
  %a = arith.constant dense<1.0> : tensor<16xf64>
  // expected-error @below {{no kernel has the function '__nv_exp'}}
  %b = tt.extern_elementwise %a {libname = "", libpath = "", pure = true, symbol = "__nv_exp"} : (tensor<16xf64>) -> tensor<16xf64>
  tt.return
}
