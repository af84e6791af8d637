lockstock_unit_test(order domain)
lockstock_unit_test(decide domain)
lockstock_unit_test(lock domain)
