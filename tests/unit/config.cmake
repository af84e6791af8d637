lockstock_unit_test(config config base)
