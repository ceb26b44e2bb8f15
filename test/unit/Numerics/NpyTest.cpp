//===- NpyTest.cpp --------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Npy.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa;

namespace {

class Npy : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npy", folder));
  }
  void TearDown() override {
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  std::string path(llvm::StringRef file = "x.npy") {
    return (folder + "/" + file).str();
  }
  void write(llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path(), error) << bytes;
    ASSERT_FALSE(error);
  }
  /// A file of version 1 with this header and data.
  void write(llvm::StringRef header, llvm::StringRef data) {
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 255);
    file += static_cast<char>(header.size() >> 8);
    write(file + header.str() + data.str());
  }
  std::string readError(std::optional<ElementType> voidType = {}) {
    auto tensor = readNpy(path(), voidType);
    return tensor ? "no error" : toString(tensor.takeError());
  }

  llvm::SmallString<64> folder;
};

} // namespace

TEST_F(Npy, RoundTrip) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::F64, ElementType::I32,
        ElementType::I64, ElementType::I1, ElementType::BF16}) {
    auto tensor = HostTensor::create(type, {2, 3, 5});
    ASSERT_TRUE(static_cast<bool>(tensor));
    double value = 0;
    tensor->forEach([&](char *p) { storeElement(p, type, value++); });
    // Strided tensors are written in logical order.
    HostTensor permuted = tensor->permuted({2, 0, 1});
    ASSERT_FALSE(static_cast<bool>(writeNpy(path(), permuted)));
    auto read = readNpy(path(), ElementType::BF16);
    ASSERT_TRUE(static_cast<bool>(read)) << toString(read.takeError());
    EXPECT_EQ(read->type(), type);
    EXPECT_EQ(read->sizes(), permuted.sizes());
    EXPECT_EQ(read->toDoubles(), permuted.toDoubles());
  }
}

TEST_F(Npy, FortranOrder) {
  write(
      "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n",
      llvm::StringRef("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0", 24));
  auto tensor = readNpy(path());
  ASSERT_TRUE(static_cast<bool>(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(tensor->toDoubles(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST_F(Npy, BadFiles) {
  struct {
    llvm::StringRef header, data, message;
  } cases[] = {
      {"nonsense", "", "expected '{', found 'nonsense'"},
      {"{'descr': '<f4', 'fortran_order': False}", "", "expected the keys"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "1234",
       "element type '>f4': expected little-endian"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "",
       "expected a type string"},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", "",
       "expected True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "",
       "expected a size of at least 0"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234",
       "claims 8 bytes of data (2 of f32), found 4"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345",
       "claims 4 bytes of data (1 of f32), found 5"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (9000000000000000000, 4,)}",
       "", "overflows 64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (400000000000,)}", "",
       "claims 1600000000000 bytes"},
      {"{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", "12",
       "element type '|V2'"},
      {"{'color': 'red'}", "", "unknown key 'color'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), "
       "'shape': (400000000000,)}",
       "", "the key 'shape' is there twice"},
  };
  for (auto [header, data, message] : cases) {
    write(header, data);
    std::string found = readError();
    EXPECT_NE(found.find(message.str()), std::string::npos) << found;
    EXPECT_NE(found.find("x.npy"), std::string::npos) << found;
  }
}

/// A tensor without elements takes no memory, however large it is otherwise.
TEST_F(Npy, NoElements) {
  write("{'descr': '<f4', 'fortran_order': False, "
        "'shape': (4000000000, 0, 400000000)}",
        "");
  auto tensor = readNpy(path());
  ASSERT_TRUE(static_cast<bool>(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(tensor->numElements(), 0);
}

TEST_F(Npy, BadPrefixes) {
  for (llvm::StringRef bytes :
       {llvm::StringRef(""), llvm::StringRef("\x93NUMP"),
        llvm::StringRef("\x93NUMPY\x01\x00", 8),
        llvm::StringRef("\x93NUMPY\x01\x00\xff\xff{", 11),
        llvm::StringRef("\x93NUMPY\x09\x00\x01\x00{", 11),
        llvm::StringRef("\x93NUMPY\x02\x00\xff\xff", 10)}) {
    write(bytes);
    EXPECT_NE(readError().find("not a .npy file that can be read"),
              std::string::npos);
  }
}

/// Every prefix and every single changed byte of a header gives an error or a
/// tensor, never a crash.
TEST_F(Npy, Mutations) {
  auto tensor = HostTensor::create(ElementType::F32, {2, 2});
  ASSERT_TRUE(static_cast<bool>(tensor));
  ASSERT_FALSE(static_cast<bool>(writeNpy(path("good.npy"), *tensor)));
  auto buffer = llvm::MemoryBuffer::getFile(path("good.npy"));
  std::string good = (*buffer)->getBuffer().str();
  for (size_t n = 0; n < good.size(); ++n) {
    write(good.substr(0, n));
    EXPECT_NE(readError(), "no error");
    for (char c : {'\0', '9', '\xff', '('}) {
      std::string bad = good;
      bad[n] = c;
      write(bad);
      readError();
    }
  }
}

/// A failed write leaves nothing behind.
TEST_F(Npy, NothingHalfWritten) {
  auto tensor = HostTensor::create(ElementType::F32, {2});
  ASSERT_TRUE(static_cast<bool>(tensor));
  llvm::Error error = writeNpy(path("missing/x.npy"), *tensor);
  EXPECT_NE(toString(std::move(error)).find("cannot write"), std::string::npos);
  // A folder stands where the file should be.
  ASSERT_FALSE(llvm::sys::fs::create_directory(path("folder")));
  error = writeNpy(path("folder"), *tensor);
  EXPECT_NE(toString(std::move(error)).find("cannot write"), std::string::npos);
  std::error_code code;
  int64_t files = 0;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end;
       it.increment(code))
    ++files;
  EXPECT_EQ(files, 1);
}
