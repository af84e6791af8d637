lockstock_unit_test(loop loop base)
