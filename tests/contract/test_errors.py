"""Every error a client can see has a test that produces it: the table of service/base/errors.def against the suites."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# code -> file and function that produce it through the running service
PRODUCED = {
    "PRD-001": "integration/test_orders.py test_order__when_a_product_is_missing__then_404_and_nothing_left",
    "PRD-002": "integration/test_orders.py test_order__when_one_line_is_short__then_all_or_nothing",
    "PRD-004": "chaos/test_two_instances.py test_lock__when_the_neighbour_keeps_it__then_prd_004_and_nothing_left",
    "PRD-005": "integration/test_stock.py test_put__when_stale_or_weak__then_412_and_nothing_left",
    "PRD-006": "integration/test_stock.py test_put__when_no_if_match__then_428",
    "PAY-001": "integration/test_orders.py test_payment__when_amount_or_key_do_not_fit__then_pay_001_and_nothing_left",
    "ORD-001": "integration/test_orders.py test_get__when_unknown__then_ord_001",
    "ORD-002": "integration/test_orders.py test_cancel__when_repeated__then_once_and_ord_002",
    "ORD-003": "integration/test_orders.py test_payment_request__when_expired__then_ord_003",
    "LCK-001": "integration/test_locks.py test_put__when_held__then_423_says_by_whom",
    "LCK-002": "integration/test_lock_database.py test_lost__when_unknown_or_another_fence__then_410_with_the_reason",
    "LCK-003": "integration/test_lock_database.py test_force__when_free_or_redis_is_away__then_204_too",
    "LCK-004": "integration/test_lock_waiting.py test_waiters__when_the_cap_is_reached__then_429",
    "LCK-005": "integration/test_lock_database.py test_store__when_the_name_is_in_redis__then_not_given_by_the_database",
    "LCK-006": "integration/test_fences.py test_post__when_lower__then_412_and_the_mark_stays",
    "LCK-007": "integration/test_recipes.py test_several__when_two_wait_for_each_other__then_the_newer_is_told_and_the_other_goes_on",
    "JOB-001": "integration/test_queues.py test_claim__when_the_lease_is_over__then_another_has_it_and_the_first_settles_nothing",
    "RSV-001": "integration/test_reservations.py test_reserve__when_a_product_is_unknown__then_nothing_is_left",
    "RSV-002": "integration/test_reservations.py test_release__when_it_comes_first__then_a_tombstone_refuses_the_reserve",
    "RSV-003": "integration/test_reservations.py test_reserve__when_repeated__then_the_same",
    "EVT-001": "integration/test_outbox.py test_event__when_unknown__then_404",
    "IDM-001": "integration/test_idempotency.py test_key__when_malformed__then_idm_001_and_nothing_left",
    "IDM-002": "integration/test_idempotency.py test_reuse__when_the_command_differs__then_422_and_the_first_stands",
    "IDM-003": "integration/test_idempotency.py test_twins__when_one_is_still_on_its_way__then_409_idm_003_with_retry_after",
    "SCH-001": "integration/test_schedules.py test_put__when_held__then_sch_001_and_who_holds",
    "SCH-002": "integration/test_schedules.py test_delete__when_never_held_or_over__then_sch_002",
    "SYS-001": "integration/test_orders.py test_outbox__when_its_insert_fails__then_that_order_fails_alone",
    "SYS-003": "integration/test_strictness.py test_order__when_several_fields_are_wrong__then_each_is_named",
    "SYS-004": "integration/test_access.py test_scope__when_it_lacks__then_sys_004_and_when_it_fits_then_done",
    "SYS-005": "integration/test_strictness.py test_method__when_wrong__then_405_with_allow",
    "SYS-006": "integration/test_access.py test_token__when_missing_or_wrong__then_sys_006",
    "SYS-007": "integration/test_strictness.py test_path__when_unknown__then_sys_007",
    "SYS-008": "integration/test_strictness.py test_size__when_above_one_mebibyte__then_read_off_and_413",
    "SYS-009": "integration/test_strictness.py test_type__when_wrong_or_missing__then_415",
    "SYS-010": "integration/test_lock_events.py test_limit__when_reached__then_429_and_free_again_after",
    "SYS-011": "integration/test_operations.py test_readyz__when_mysql_goes__then_degraded_503_and_recovery",
    "SYS-012": "chaos/test_commit_unknown.py test_cut__when_the_database_stays_away__then_sys_012_and_the_retry_tells_the_truth",
    "SYS-013": "integration/test_orders.py test_compensations__when_resolved__then_it_stays_resolved",
}


def codes():
    with open(os.path.join(ROOT, "service", "base", "errors.def"), encoding="utf-8") as file:
        return re.findall(r'^ERR\(\w+, "([^"]+)"', file.read(), re.M)


def source_of(place):
    """Text of one test function of a suite."""
    path, name = place.split(" ")
    with open(os.path.join(ROOT, "tests", path), encoding="utf-8") as file:
        match = re.search(rf"^    def {name}\(.*?(?=^    def |^class |\Z)", file.read(), re.M | re.S)
    return match[0] if match else ""


class Errors(unittest.TestCase):
    def test_codes__when_in_the_table__then_each_is_produced(self):
        self.assertEqual(set(codes()), set(PRODUCED))

    def test_producers__when_looked_up__then_they_exist_and_name_the_code(self):
        for code, place in PRODUCED.items():
            with self.subTest(code=code):
                self.assertIn(f'"{code}"', source_of(place))


if __name__ == "__main__":
    unittest.main(verbosity=2)
