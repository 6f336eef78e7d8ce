# Programs made with the public API or beside it: examples, the fixture, the
# end-to-end tests, the benchmark. A program is one .c file, or a directory of
# them; a lib/ directory beside programs is compiled into each.

# bide_program(TARGET NAME OUTDIR SOURCES... [LINK libraries...])
function(bide_program target name outdir)
  cmake_parse_arguments(P "" "" "LINK" ${ARGN})
  add_executable(${target} ${P_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE ${P_LINK} PkgConfig::JANSSON
    Threads::Threads m)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${outdir})
endfunction()

# bide_find_programs(VARIABLE DIR): the names of the programs in DIR, and
# VARIABLE_<name> with the files of each.
function(bide_find_programs variable dir)
  set(names "")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${dir}/*.c)
  foreach(f ${files})
    get_filename_component(name ${f} NAME_WE)
    list(APPEND names ${name})
    set(${variable}_${name} ${f} PARENT_SCOPE)
  endforeach()
  file(GLOB mains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${dir}/*/main.c)
  foreach(f ${mains})
    get_filename_component(sub ${f} DIRECTORY)
    get_filename_component(name ${sub} NAME)
    file(GLOB parts CONFIGURE_DEPENDS ${sub}/*.c)
    list(APPEND names ${name})
    set(${variable}_${name} ${parts} PARENT_SCOPE)
  endforeach()
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

if(TARGET bide_static)
  # The examples' tools are a library of their own, so that a program takes
  # only those that it registers. SHA-256 comes from nettle: the smallest kept
  # library that has it, and libmicrohttpd-dev brings it along through GnuTLS.
  bide_find_programs(examples examples)
  file(GLOB lib CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/lib/*.c)
  set(link bide_static)
  if(lib)
    pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
    add_library(examples_lib STATIC ${lib})
    target_include_directories(examples_lib PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(examples_lib PUBLIC bide_static PkgConfig::NETTLE)
    set(link examples_lib)
  endif()
  # Each of these is a program, and without its main() a part of demo_server.
  set(together "")
  foreach(name summarize_incidents update_work_item get_weather
      list_project_files rolling_upgrade load_shedding)
    list(APPEND together ${CMAKE_SOURCE_DIR}/examples/${name}.c)
  endforeach()
  foreach(name ${examples})
    if(name MATCHES "^demo_client")
      bide_program(example_${name} ${name} examples ${examples_${name}}
        LINK PkgConfig::LIBCURL)
    elseif(name STREQUAL "demo_server")
      bide_program(example_demo_server demo_server examples
        ${examples_demo_server} ${together} LINK ${link})
      target_compile_definitions(example_demo_server PRIVATE
        EXAMPLES_TOGETHER)
    else()
      bide_program(example_${name} ${name} examples ${examples_${name}}
        LINK ${link})
    endif()
  endforeach()

  # The fixture is made with the public API alone, but linked with the rooms
  # as they are: tests/hooks reaches the faults and the test clock, which
  # libbide gives no way to.
  file(GLOB fixture CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fixture/*.c
    ${CMAKE_SOURCE_DIR}/tests/hooks/*.c)
  if(fixture)
    bide_program(bide_fixture bide-fixture tests ${fixture}
      $<TARGET_OBJECTS:bide_top> LINK ${below})
  endif()
endif()

bide_find_programs(e2e tests/e2e)
file(GLOB lib CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/lib/*.c)
foreach(name ${e2e})
  string(REGEX REPLACE "^(test|e2e)_" "" short ${name})
  bide_program(e2e_${short} e2e_${short} tests ${e2e_${name}} ${lib}
    LINK PkgConfig::LIBCURL PkgConfig::CMOCKA PkgConfig::SQLITE3)
  add_test(NAME e2e.${short} COMMAND e2e_${short}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # They start servers and watch the clock: one at a time under ctest -j2.
  set_tests_properties(e2e.${short} PROPERTIES LABELS e2e PROCESSORS 2
    TIMEOUT 1800
    ENVIRONMENT "BIDE_FIXTURE=${CMAKE_BINARY_DIR}/tests/bide-fixture;BIDE_BUILD=${CMAKE_BINARY_DIR}")
  if(TARGET bide_fixture)
    add_dependencies(e2e_${short} bide_fixture)
  endif()
endforeach()

# These once more, through a balancer that spreads their requests.
foreach(which nginx haproxy)
  foreach(short examples rounds)
    add_test(NAME e2e.${short}.${which} COMMAND e2e_${short}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e.${short}.${which} PROPERTIES LABELS e2e
      PROCESSORS 2 TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "BIDE_BEHIND=${which};BIDE_FIXTURE=${CMAKE_BINARY_DIR}/tests/bide-fixture;BIDE_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
endforeach()

# What ./dev demo shows, it also counts.
if(TARGET example_demo_server AND TARGET example_demo_client)
  add_test(NAME e2e.demo COMMAND sh ${CMAKE_SOURCE_DIR}/examples/demo.sh --exit)
  set_tests_properties(e2e.demo PROPERTIES LABELS e2e PROCESSORS 2 TIMEOUT 600
    ENVIRONMENT "BIDE_BUILD=${CMAKE_BINARY_DIR}")
endif()

# So do the examples: each is played as ./dev example does.
file(GLOB lessons CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/lessons/*.json)
foreach(lesson ${lessons})
  get_filename_component(name ${lesson} NAME_WE)
  if(TARGET example_${name} AND TARGET example_demo_client)
    add_test(NAME e2e.example_${name} COMMAND sh
      ${CMAKE_SOURCE_DIR}/examples/demo.sh --example ${name})
    set_tests_properties(e2e.example_${name} PROPERTIES LABELS e2e PROCESSORS 2
      TIMEOUT 600 ENVIRONMENT "BIDE_BUILD=${CMAKE_BINARY_DIR}")
  endif()
endforeach()

bide_find_programs(bench tests/bench)
file(GLOB lib CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/bench/lib/*.c
  ${CMAKE_SOURCE_DIR}/tests/e2e/lib/*.c)
foreach(name ${bench})
  string(REGEX REPLACE "^bench_" "" short ${name})
  bide_program(bench_${short} bench_${short} tests ${bench_${name}} ${lib}
    LINK PkgConfig::LIBCURL PkgConfig::LIBMICROHTTPD PkgConfig::SQLITE3)
endforeach()
