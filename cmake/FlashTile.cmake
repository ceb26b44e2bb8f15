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

# The tools have LLVM's archives linked in (FA_LLVM_INSIDE): a process starts in 8 ms
# that takes 41 to load and relocate LLVM's shared libraries, its code calls no
# function through a table, and it runs where no LLVM is. The library that programs
# embed, and the unit tests, take LLVM's shared libraries.
define_property(TARGET PROPERTY FA_LLVM_INSIDE
  BRIEF_DOCS "Whether LLVM's archives are linked in, not its shared libraries")
set(fa_inside $<BOOL:$<TARGET_PROPERTY:FA_LLVM_INSIDE>>)

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
add_library(fa_other_targets STATIC ${FA_OTHER_TARGETS})

# The packages' archives of MLIR name the shared LLVM as what they need. Who links
# them gets LLVM's archives.
llvm_map_components_to_libnames(archives Core Support Passes Target TargetParser
  MC OrcJIT IRReader BitReader BitWriter FrontendOpenMP X86 NVPTX AMDGPU
  BinaryFormat DebugInfoDWARF DTLTO LTO Object Option SupportLSP)
set_target_properties(LLVMExtensions PROPERTIES
  INTERFACE_LINK_LIBRARIES LLVMSupport)
foreach(target ${MLIR_EXPORTED_TARGETS})
  get_target_property(type ${target} TYPE)
  get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
  if(type STREQUAL "STATIC_LIBRARY" AND "LLVM" IN_LIST needs)
    list(REMOVE_ITEM needs LLVM)
    set_target_properties(${target} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${needs};${archives}")
  endif()
endforeach()

# lld links AMD's code objects. Its targets name LLVM's archives as what they
# need; the files alone take LLVM as the rest has it.
set(FA_LLD_LIBS
  ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a)
foreach(file ${FA_LLD_LIBS})
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "expected lld's libraries (liblld-22-dev), found no ${file}")
  endif()
endforeach()
foreach(lib fa_other_targets ${archives})
  list(APPEND FA_LLD_LIBS $<${fa_inside}:${lib}>)
endforeach()
list(APPEND FA_LLD_LIBS z zstd)

# Components are named as LLVM names them (MLIRIR, LLVMSupport). Linked shared,
# each of them is part of one of two libraries.
function(fa_resolve_libs out)
  set(result)
  foreach(lib ${ARGN})
    if(lib MATCHES "^MLIR")
      list(APPEND result $<IF:${fa_inside},${lib},MLIR> $<$<NOT:${fa_inside}>:LLVM>)
    elseif(lib MATCHES "^LLVM")
      list(APPEND result $<IF:${fa_inside},${lib},LLVM>)
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

# The tools' malloc where it is installed: a compilation takes 0.93 of the CPU time
# that it takes with glibc's. Sanitizers have one of their own.
find_library(FA_JEMALLOC jemalloc_pic DOC "jemalloc's archive for the tools")

# fa_add_tool(name sources... LINK_LIBS PRIVATE libs...): a program in bin/, with
# LLVM linked in, and shared-NAME, built by fa-shared-tools: the same without it in
# test/shared, for tests that stand in front of LLVM's library (test/FakeCpu).
function(fa_add_tool name)
  fa_parse_arguments(${ARGN})
  add_library(objects-${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  fa_finish_target(objects-${name} mlir)
  foreach(target ${name} shared-${name})
    add_executable(${target})
    target_link_libraries(${target} PRIVATE objects-${name} fa_options)
    target_link_libraries(${target} ${ARG_LIBS})
  endforeach()
  set_target_properties(${name} PROPERTIES FA_LLVM_INSIDE ON)
  target_link_options(${name} PRIVATE -no-pie -Wl,--as-needed -Wl,--gc-sections
    -static-libstdc++ -static-libgcc)
  if(FA_JEMALLOC AND NOT FA_SANITIZE)
    target_link_libraries(${name} PRIVATE ${FA_JEMALLOC})
  endif()
  set_target_properties(shared-${name} PROPERTIES
    OUTPUT_NAME ${name} EXCLUDE_FROM_ALL ON
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/shared)
  if(NOT TARGET fa-shared-tools)
    add_custom_target(fa-shared-tools)
  endif()
  add_dependencies(fa-shared-tools shared-${name})
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
  list(FILTER found EXCLUDE REGEX "^(fa_pch_|objects-|shared-)")
  get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each ${inner})
    fa_collect_programs(deeper ${each})
    list(APPEND found ${deeper})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
