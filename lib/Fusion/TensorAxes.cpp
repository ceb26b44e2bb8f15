//===- TensorAxes.cpp - what the dimensions of tensors are made of --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorAxes.h"

using namespace mlir;
using namespace fa;

AxisList AxisTable::add(AxisSize size) {
  if (size.number == 1)
    return {};
  axes.push_back({size, {}});
  return {AxisId(axes.size() - 1)};
}

AxisList AxisTable::resolve(ArrayRef<AxisId> list) const {
  AxisList result;
  for (AxisId axis : list) {
    if (axes[axis].parts.empty())
      result.push_back(axis);
    else
      result.append(resolve(axes[axis].parts));
  }
  return result;
}

bool AxisTable::split(AxisId axis, int64_t inner) {
  AxisSize size = axes[axis].size;
  if (!size.isDynamic() && size.number % inner != 0)
    return false;
  AxisSize outer;
  if (!size.isDynamic())
    outer.number = size.number / inner;
  bool isNew = axes[axis].isNew;
  SmallVector<AxisId, 2> parts;
  for (AxisSize part : {outer, AxisSize{inner}}) {
    parts.push_back(axes.size());
    axes.push_back({part, {}, isNew});
  }
  axes[axis].parts = parts;
  return true;
}

static bool haveSameName(AxisSize x, AxisSize y) {
  return x.name && y.name && x.name->argument == y.name->argument &&
         x.name->dim == y.name->dim;
}

std::optional<SmallVector<AxisList>>
AxisTable::divide(ArrayRef<AxisId> list, ArrayRef<AxisSize> dims) {
  AxisList rest = resolve(list);
  SmallVector<AxisList> result(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    AxisList &own = result[d];
    bool isFirst = llvm::all_of(dims.take_front(d),
                                [](AxisSize size) { return size.number == 1; });
    if (isFirst && dims[d].number != 1) {
      own = std::move(rest);
      rest.clear();
      continue;
    }
    if (dims[d].isDynamic()) {
      // Nothing says what of a product is this, but that it is an axis.
      if (rest.empty() || !haveSameName(axes[rest.back()].size, dims[d]))
        return std::nullopt;
      own.push_back(rest.pop_back_val());
      continue;
    }
    for (int64_t needed = dims[d].number; needed != 1;) {
      if (rest.empty())
        return std::nullopt;
      AxisId axis = rest.pop_back_val();
      AxisSize size = axes[axis].size;
      if (!size.isDynamic() && needed % size.number == 0) {
        needed /= size.number;
        own.insert(own.begin(), axis);
        continue;
      }
      if (!split(axis, needed))
        return std::nullopt;
      rest.push_back(axes[axis].parts[0]);
      own.insert(own.begin(), axes[axis].parts[1]);
      needed = 1;
    }
  }
  if (!rest.empty())
    return std::nullopt;
  return result;
}

bool AxisTable::unite(ArrayRef<AxisId> list, ArrayRef<AxisId> known) {
  AxisList x = resolve(list), y = resolve(known);
  auto splitLast = [&](AxisList &of, int64_t inner) {
    AxisId axis = of.pop_back_val();
    if (!split(axis, inner))
      return false;
    of.append(axes[axis].parts.begin(), axes[axis].parts.end());
    // The other list may have it, too.
    x = resolve(x);
    y = resolve(y);
    return true;
  };
  while (!x.empty() && !y.empty()) {
    AxisId a = x.back(), b = y.back();
    AxisSize sizeA = axes[a].size, sizeB = axes[b].size;
    bool areLast = x.size() == 1 && y.size() == 1;
    bool isSame = a == b || (!sizeA.isDynamic() && !sizeB.isDynamic()
                                 ? sizeA.number == sizeB.number
                                 : areLast || haveSameName(sizeA, sizeB));
    if (isSame) {
      if (a != b && axes[a].isNew)
        axes[a].parts = {b};
      else if (a != b && axes[b].isNew)
        axes[b].parts = {a};
      else if (a != b)
        return false; // a diagonal
      x.pop_back();
      y.pop_back();
      continue;
    }
    bool splitsA = sizeA.isDynamic() ||
                   (!sizeB.isDynamic() && sizeA.number > sizeB.number);
    if (splitsA ? sizeB.isDynamic() || !splitLast(x, sizeB.number)
                : !splitLast(y, sizeA.number))
      return false;
  }
  return x.empty() && y.empty();
}

void AxisTable::settle() {
  for (Entry &axis : axes)
    axis.isNew = false;
}
