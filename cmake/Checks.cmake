# Checks that are not programs of ours: headers that compile alone, the layers,
# the installed copy.

# Each public header compiles alone, first in its file, as C11 and as C++11,
# without the feature macros that our own code is given. (A function named as a
# struct is, as stat() is, hides the constructor that C++ would have made.)
file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR}/include CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/include/bide/*.h)
include(CheckLanguage)
check_language(CXX)
set(languages c)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  list(APPEND languages cpp)
else()
  message(STATUS "no C++ compiler: the headers are tried in C alone")
endif()
foreach(lang ${languages})
  set(alone "")
  foreach(h ${headers})
    string(MAKE_C_IDENTIFIER ${h} id)
    set(f ${CMAKE_BINARY_DIR}/headertest/${id}.${lang})
    file(GENERATE OUTPUT ${f} CONTENT "#include \"${h}\"\n#include \"${h}\"\n")
    list(APPEND alone ${f})
  endforeach()
  if(alone)
    add_library(headertest_${lang} OBJECT ${alone})
    set_target_properties(headertest_${lang} PROPERTIES C_STANDARD 11
      C_EXTENSIONS OFF CXX_STANDARD 11 CXX_EXTENSIONS OFF)
    target_compile_options(headertest_${lang} PRIVATE -U_GNU_SOURCE
      -Wno-shadow)
    target_include_directories(headertest_${lang} PRIVATE
      ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(headertest_${lang} PRIVATE PkgConfig::JANSSON)
  endif()
endforeach()

add_test(NAME check.layers
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/layers.sh ${CMAKE_SOURCE_DIR})
add_test(NAME check.banned
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/banned.sh ${CMAKE_SOURCE_DIR})
add_test(NAME check.readme
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/readme.sh ${CMAKE_SOURCE_DIR})
add_test(NAME check.traceability
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/traceability.sh ${CMAKE_SOURCE_DIR})
add_test(NAME check.layers_selftest
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/layers_selftest.sh)
add_test(NAME check.embed_sql
  COMMAND sh ${CMAKE_SOURCE_DIR}/tests/embed_sql.sh ${AWK}
    ${CMAKE_C_COMPILER})
set_tests_properties(check.layers check.banned check.readme check.layers_selftest
  check.embed_sql PROPERTIES LABELS check)
if(TARGET bide_static)
  add_test(NAME check.symbols
    COMMAND sh ${CMAKE_SOURCE_DIR}/tests/symbols.sh
      $<TARGET_FILE:bide_static> $<TARGET_FILE:bide_shared>)
  set_tests_properties(check.symbols PROPERTIES LABELS check)
endif()
if(TARGET bide AND NOT BIDE_SANITIZE)
  add_test(NAME check.install
    COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/run.sh
      ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(check.install PROPERTIES LABELS check TIMEOUT 300
    SKIP_RETURN_CODE 77)
endif()

if(TARGET bide_fixture)
  add_test(NAME check.fleet
    COMMAND sh ${CMAKE_SOURCE_DIR}/tests/fleet.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(check.fleet PROPERTIES LABELS check PROCESSORS 2
    TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

# What the pages tell the reader to type.
if(TARGET example_demo_server)
  add_test(NAME check.docs COMMAND sh ${CMAKE_SOURCE_DIR}/tests/docs/run.sh
    ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  add_test(NAME check.docs_selftest
    COMMAND sh ${CMAKE_SOURCE_DIR}/tests/docs/selftest.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(check.docs check.docs_selftest PROPERTIES LABELS check
    PROCESSORS 2 TIMEOUT 1800 SKIP_RETURN_CODE 77)
endif()

# Every message that the server sends to a test of the protocol or from end to
# end goes into a file, and once they are over it is held to the published
# schemas, where those are at hand.
if(TARGET protocol_test_wire_schema)
  set(wire_log ${CMAKE_BINARY_DIR}/wire.log)
  get_property(tests DIRECTORY PROPERTY TESTS)
  add_test(NAME check.wire_begin
    COMMAND ${CMAKE_COMMAND} -E rm -f ${wire_log})
  add_test(NAME check.wire COMMAND protocol_test_wire_schema
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(check.wire_begin PROPERTIES FIXTURES_SETUP wire
    LABELS check)
  set_tests_properties(check.wire PROPERTIES FIXTURES_CLEANUP wire
    LABELS check TIMEOUT 900 ENVIRONMENT BIDE_WIRE_LOG=${wire_log})
  # The demo and the lessons are played by programs of their own.
  list(FILTER tests INCLUDE REGEX "^(e2e|unit\\.protocol)\\.")
  list(FILTER tests EXCLUDE REGEX "^e2e\\.(demo|example_)|test_wire_schema$")
  set_property(TEST ${tests} APPEND PROPERTY FIXTURES_REQUIRED wire)
  set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT
    BIDE_WIRE_LOG=${wire_log})
endif()
