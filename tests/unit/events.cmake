lockstock_unit_test(frontier events fault_none base)
lockstock_unit_test(keys events fault_none base)
lockstock_unit_test(batch events fault_none base)
