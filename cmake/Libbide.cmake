# The library: every room and the top of the library, server/*.c, in one.
#
# All objects are linked into one, bide.o, in which every symbol that is not
# BIDE_API becomes local. Both libraries are made of it, so a program that links
# libbide.a can no more reach, or collide with, an internal name than one that
# links libbide.so.
file(GLOB top CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/server/*.c)
list(FILTER top EXCLUDE REGEX "/server/bide\\.c$")
set(pieces "")
if(top)
  add_library(bide_top OBJECT ${top})
  target_link_libraries(bide_top PRIVATE ${below})
  set(pieces $<TARGET_OBJECTS:bide_top>)
endif()
foreach(room ${below})
  list(APPEND pieces $<TARGET_FILE:${room}>)
endforeach()
if(NOT pieces)
  return()
endif()

set(bide_o ${CMAKE_BINARY_DIR}/bide.o)
add_custom_command(OUTPUT ${bide_o}
  COMMAND ${CMAKE_LINKER} -r -o ${bide_o} --whole-archive ${pieces}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${bide_o}
  DEPENDS ${pieces} ${below}
  COMMENT "Linking bide.o, public symbols only"
  COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${bide_o} PROPERTIES EXTERNAL_OBJECT ON
  GENERATED ON)
add_custom_target(bide_object DEPENDS ${bide_o})

foreach(kind static shared)
  string(TOUPPER ${kind} upkind)
  add_library(bide_${kind} ${upkind} ${bide_o})
  add_dependencies(bide_${kind} bide_object)
  set_target_properties(bide_${kind} PROPERTIES LINKER_LANGUAGE C
    OUTPUT_NAME bide)
  target_include_directories(bide_${kind} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # The public headers speak of json_t; the other libraries stay inside.
  target_link_libraries(bide_${kind} PUBLIC PkgConfig::JANSSON
    PRIVATE PkgConfig::SQLITE3 PkgConfig::LIBMICROHTTPD PkgConfig::LIBSODIUM
    PkgConfig::LIBPCRE2 Threads::Threads m)
endforeach()
set_target_properties(bide_shared PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME bide)
target_link_options(bide_shared PRIVATE -Wl,--no-undefined)
add_library(bide::bide ALIAS bide_shared)
add_library(bide::bide_static ALIAS bide_static)

if(EXISTS ${CMAKE_SOURCE_DIR}/server/bide.c)
  add_executable(bide ${CMAKE_SOURCE_DIR}/server/bide.c)
  target_link_libraries(bide PRIVATE bide_static)
  install(TARGETS bide)
endif()

# Installing
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bide)
install(TARGETS bide_static bide_shared EXPORT bideTargets)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/bide
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT bideTargets NAMESPACE bide:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/bideConfig.cmake.in
  ${CMAKE_BINARY_DIR}/bideConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/bideConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/bideConfig.cmake
  ${CMAKE_BINARY_DIR}/bideConfigVersion.cmake DESTINATION ${package_dir})
# bide.pc finds its prefix from where it lies, so an installed tree can move.
# What libbide.a needs stands there as libraries, not as Requires.private: that
# would ask for all that those need to be static too, which Debian cannot give.
foreach(lib SQLITE3 LIBMICROHTTPD LIBSODIUM LIBPCRE2)
  list(APPEND pc_private ${${lib}_LDFLAGS})
endforeach()
list(FILTER pc_private EXCLUDE REGEX "^-L/usr/lib")
list(JOIN pc_private " " pc_private)
file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/bide.pc.in
  ${CMAKE_BINARY_DIR}/bide.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bide.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
