# GoogleTest programs, for the whole project and for the runtime configured alone.
find_package(GTest REQUIRED)
set(GRADC_TEST_BIN ${CMAKE_BINARY_DIR}/test/unit)

# gradc_test(NAME [MLIR] SOURCES ... LINK ...): one GoogleTest program, NAME ending in -test. MLIR: its
# sources include MLIR's headers, so it shares the precompiled one.
function(gradc_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${GRADC_TEST_BIN})
  if(ARG_MLIR)
    # The precompiled header is -fPIC code, and must find the same flag here.
    target_compile_options(${name} PRIVATE -fPIC)
    target_precompile_headers(${name} REUSE_FROM gradc_compiler_pch)
  endif()
endfunction()
