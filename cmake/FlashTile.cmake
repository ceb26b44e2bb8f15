# Helpers of this project: libraries, tools and unit tests with the same
# warnings, precompiled headers and way to link LLVM.

add_library(fa_options INTERFACE)
target_compile_options(fa_options INTERFACE
  -fPIC -Wall -Wextra -Werror -Wno-unused-parameter -fno-exceptions)
# Our own code keeps its assertions in every build: LLVM's packages have none,
# so a wrong cast is found here or not at all. (With one price: llvm::Statistic
# has another layout under assertions than in the packages, so passes have none.)
target_compile_options(fa_options INTERFACE -UNDEBUG)
# The cache of compiled programs tells builds apart by it.
target_link_options(fa_options INTERFACE -Wl,--build-id=sha1)
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(fa_options INTERFACE -fno-rtti)
endif()
if(FA_SANITIZE)
  target_compile_options(fa_options INTERFACE
    -fsanitize=${FA_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -fno-sanitize=vptr)
  target_link_options(fa_options INTERFACE -fsanitize=${FA_SANITIZE})
endif()
if(FA_COVERAGE)
  target_compile_options(fa_options INTERFACE
    -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(fa_options INTERFACE -fprofile-instr-generate)
endif()

# lld initialises all targets that LLVM has. Where LLVM is linked in, those that no
# kernel is compiled for would double what comes out: this is the source of
# initialisers that do nothing, nor does Polly's, which is for link-time
# optimisation.
set(other_targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM other_targets ${LLVM_NATIVE_ARCH} NVPTX AMDGPU)
set(initializers "void getPollyPluginInfo() {}\n")
foreach(target ${other_targets})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND initializers
      "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
set(FA_OTHER_TARGETS ${PROJECT_BINARY_DIR}/OtherTargets.cpp)
file(CONFIGURE OUTPUT ${FA_OTHER_TARGETS} CONTENT "${initializers}")

# The packages' MLIR libraries name the shared LLVM as what they need, also when
# they are linked statically. Here they get the archives instead.
if(FA_LINK_LLVM STREQUAL "static")
  add_link_options(-Wl,--as-needed -static-libstdc++ -static-libgcc)
  llvm_map_components_to_libnames(archives Core Support Passes Target TargetParser
    MC OrcJIT IRReader BitReader BitWriter FrontendOpenMP X86 NVPTX AMDGPU
    BinaryFormat DebugInfoDWARF DTLTO LTO Object Option)
  set_target_properties(LLVMExtensions PROPERTIES
    INTERFACE_LINK_LIBRARIES LLVMSupport)
  foreach(target ${MLIR_EXPORTED_TARGETS})
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
    if("LLVM" IN_LIST needs)
      list(REMOVE_ITEM needs LLVM)
      set_target_properties(${target} PROPERTIES
        INTERFACE_LINK_LIBRARIES "${needs};${archives}")
    endif()
  endforeach()
endif()

# lld links AMD's code objects. Its targets name LLVM's archives as what they
# need; the files alone take LLVM as the rest has it.
set(FA_LLD_LIBS
  ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a)
foreach(file ${FA_LLD_LIBS})
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "expected lld's libraries (liblld-22-dev), found no ${file}")
  endif()
endforeach()
if(FA_LINK_LLVM STREQUAL "static")
  add_library(fa_other_targets STATIC ${FA_OTHER_TARGETS})
  list(APPEND FA_LLD_LIBS fa_other_targets ${archives})
endif()
list(APPEND FA_LLD_LIBS z zstd)

# Components are named as LLVM names them (MLIRIR, LLVMSupport). Linked shared,
# each of them is part of one of two libraries.
function(fa_resolve_libs out)
  set(result)
  foreach(lib ${ARGN})
    if(FA_LINK_LLVM STREQUAL "shared" AND lib MATCHES "^MLIR")
      list(APPEND result MLIR LLVM)
    elseif(FA_LINK_LLVM STREQUAL "shared" AND lib MATCHES "^LLVM")
      list(APPEND result LLVM)
    else()
      list(APPEND result ${lib})
    endif()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# One precompiled header a kind of code: on LLVM alone (llvm), on MLIR (mlir), and
# unit tests (gtest). Parsing headers is most of what compiling a file takes.
function(fa_use_pch target kind)
  set(owner fa_pch_${kind})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${kind}.cpp CONTENT "")
    add_library(${owner} STATIC ${CMAKE_BINARY_DIR}/pch/${kind}.cpp)
    target_link_libraries(${owner} PRIVATE fa_options)
    target_precompile_headers(${owner} PRIVATE
      ${PROJECT_SOURCE_DIR}/cmake/pch_${kind}.h)
    if(kind STREQUAL "mlir") # it holds our dialects' headers
      add_dependencies(${owner} FaTileIncGen FaTileGPUIncGen)
    elseif(kind STREQUAL "gtest")
      target_link_libraries(${owner} PRIVATE GTest::gtest)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

macro(fa_parse_arguments)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  fa_resolve_libs(ARG_LIBS ${ARG_LINK_LIBS})
endmacro()

macro(fa_finish_target target kind)
  target_link_libraries(${target} PRIVATE fa_options)
  target_link_libraries(${target} ${ARG_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
  if(NOT "${kind}" STREQUAL "plain")
    fa_use_pch(${target} ${kind})
  endif()
endmacro()

# fa_add_plain_library(name sources...): a static library of the standard
# library's C++ alone. Functions have sections of their own, so that the loader
# carries only what it calls.
function(fa_add_plain_library name)
  add_library(${name} STATIC ${ARGN})
  set_property(GLOBAL APPEND PROPERTY FA_LIBRARIES ${name})
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PRIVATE fa_options)
endfunction()

# fa_compile_in_batches(name): half of what a file takes is templates that its
# neighbours have as well. Files of a batch share what is static in them and their
# using-directives: two names that meet are an error, or the file stands alone (by
# SKIP_UNITY_BUILD_INCLUSION).
function(fa_compile_in_batches name)
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ${FA_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# fa_add_library(name sources... LINK_LIBS PUBLIC libs...): a static library.
function(fa_add_library name)
  fa_parse_arguments(${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY FA_LIBRARIES ${name})
  fa_finish_target(${name} llvm)
  fa_compile_in_batches(${name})
endfunction()

# The same for code on MLIR.
function(fa_add_mlir_library name)
  fa_parse_arguments(${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY FA_LIBRARIES ${name})
  fa_finish_target(${name} mlir)
  fa_compile_in_batches(${name})
endfunction()

# fa_add_tool(name sources... LINK_LIBS PRIVATE libs...): a program in bin/.
function(fa_add_tool name)
  fa_parse_arguments(${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  fa_finish_target(${name} mlir)
endfunction()

# fa_add_unittest(name KIND sources... LINK_LIBS PRIVATE libs...): a GoogleTest
# program in test/unit, of code on LLVM and perhaps MLIR (KIND llvm) or on neither
# (KIND plain).
function(fa_add_unittest name kind)
  fa_parse_arguments(${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  list(APPEND ARG_LIBS GTest::gtest GTest::gtest_main)
  if(kind STREQUAL "plain")
    fa_finish_target(${name} plain)
  else()
    fa_finish_target(${name} gtest)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
endfunction()

# fa_collect_programs(out folder): what the folder and those in it build to run or
# to load, in `out`.
function(fa_collect_programs out folder)
  get_property(found DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER found EXCLUDE REGEX "^fa_pch_")
  get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each ${inner})
    fa_collect_programs(deeper ${each})
    list(APPEND found ${deeper})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
