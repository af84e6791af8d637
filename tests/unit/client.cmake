lockstock_unit_test(address client base)
lockstock_unit_test(client client base)
target_link_libraries(test_client PRIVATE Threads::Threads)
