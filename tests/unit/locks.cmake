lockstock_unit_test(queue locks fault_none)
lockstock_unit_test(watch_diff locks fault_none)
