lockstock_unit_test(order domain)
lockstock_unit_test(decide domain)
lockstock_unit_test(lock domain)
lockstock_unit_test(queued_job domain)
