lockstock_unit_test(options run fault_none)
lockstock_unit_test(lease run fault_none)
