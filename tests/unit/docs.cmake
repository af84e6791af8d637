# docs/settings.md and docs/metrics.md: written by docs-update, compared by the tests docs_settings and docs_metrics.
add_executable(docs-tables ${CMAKE_SOURCE_DIR}/tests/support/print_tables.c)
target_link_libraries(docs-tables PRIVATE lockstock_config lockstock_metrics)
add_custom_target(docs-update
  COMMAND docs-tables settings > ${CMAKE_SOURCE_DIR}/docs/settings.md
  COMMAND docs-tables metrics > ${CMAKE_SOURCE_DIR}/docs/metrics.md)
foreach(table settings metrics)
  add_test(NAME docs_${table}
    COMMAND sh -c "'$<TARGET_FILE:docs-tables>' ${table} | diff -u '${CMAKE_SOURCE_DIR}/docs/${table}.md' -")
endforeach()
