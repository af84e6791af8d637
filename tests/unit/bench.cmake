lockstock_unit_test(latency bench)
lockstock_unit_test(load_request bench)
lockstock_unit_test(reply bench)
lockstock_unit_test(steps bench)
