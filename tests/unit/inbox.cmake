lockstock_unit_test(intake inbox fault_none)
