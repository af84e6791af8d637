lockstock_unit_test(queue locks fault_none)
