lockstock_unit_test(target http)
lockstock_unit_test(router http)
lockstock_unit_test(site http)
lockstock_unit_test(access http codec)
