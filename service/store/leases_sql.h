/* What the statements about lock_leases share. */
#pragma once

#define LEASES_NOW "UTC_TIMESTAMP(6)"
#define LEASES_LEFT_MS "TIMESTAMPDIFF(MICROSECOND, " LEASES_NOW ", lease_until) DIV 1000"
#define LEASES_HELD_MS "TIMESTAMPDIFF(MICROSECOND, taken_at, " LEASES_NOW ") DIV 1000"
#define LEASES_IS_HELD "(holder IS NOT NULL AND lease_until > " LEASES_NOW ")"
