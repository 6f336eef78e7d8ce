# The SQL stands in .sql files and travels inside the program. Two files come
# out of it, found as "store/queries_sqlite.inc" and "migrations/migrations.inc"
# by whatever links `embedded_sql`; cmake/embed_sql.awk says how they look.
find_program(AWK NAMES awk mawk gawk REQUIRED)

set(embed_dir ${CMAKE_BINARY_DIR}/embedded)
file(MAKE_DIRECTORY ${embed_dir}/store ${embed_dir}/migrations)
set(embedded "")

function(bide_embed mode output)
  set(made ${embed_dir}/${output})
  add_custom_command(OUTPUT ${made}
    COMMAND ${AWK} -v mode=${mode} -f ${CMAKE_SOURCE_DIR}/cmake/embed_sql.awk
      ${ARGN} > ${made}.tmp
    COMMAND ${CMAKE_COMMAND} -E rename ${made}.tmp ${made}
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_sql.awk
    COMMENT "Embedding ${output}" VERBATIM)
  set(embedded ${embedded} ${made} PARENT_SCOPE)
endfunction()

file(GLOB query_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/store/queries_*.sql)
foreach(f ${query_files})
  get_filename_component(name ${f} NAME_WE)
  bide_embed(queries store/${name}.inc ${f})
endforeach()
file(GLOB migration_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/migrations/*.sql)
list(SORT migration_files)
if(migration_files)
  bide_embed(migrations migrations/migrations.inc ${migration_files})
endif()

add_custom_target(embed_sql DEPENDS ${embedded})
add_library(embedded_sql INTERFACE)
target_include_directories(embedded_sql INTERFACE ${embed_dir})
add_dependencies(embedded_sql embed_sql)
