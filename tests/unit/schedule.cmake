lockstock_unit_test(schedule domain)
lockstock_unit_test(bodies_schedule codec)
lockstock_unit_test(schedule_documents codec)
lockstock_unit_test(job schedule fault_none base)

# The same name twice must not compile: a program of one enum from such a table is built, and that has to fail.
add_test(NAME unit_jobs_twice
         COMMAND ${CMAKE_C_COMPILER} -fsyntax-only -DJOBS_TWICE -I${CMAKE_SOURCE_DIR}/service ${CMAKE_SOURCE_DIR}/tests/unit/jobs_twice.c)
set_tests_properties(unit_jobs_twice PROPERTIES WILL_FAIL TRUE)
add_test(NAME unit_jobs_once
         COMMAND ${CMAKE_C_COMPILER} -fsyntax-only -I${CMAKE_SOURCE_DIR}/service ${CMAKE_SOURCE_DIR}/tests/unit/jobs_twice.c)
