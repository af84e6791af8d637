lockstock_unit_test(histogram metrics base)
lockstock_unit_test(metrics metrics base)
lockstock_unit_test(requests metrics base)
