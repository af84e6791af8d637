lockstock_unit_test(boarding facade fault_none)
lockstock_unit_test(lanes facade fault_none)
lockstock_unit_test(rider facade fault_none)
lockstock_unit_test(answer facade fault_none)
