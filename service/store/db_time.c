/* Proleptic Gregorian calendar, years counted from March so that the leap day is the last of its year. */
#include "store/db_time.h"

#define MS_PER_DAY INT64_C(86400000)
#define DAYS_PER_ERA 146097  /* 400 years */
#define DAYS_TO_EPOCH 719468 /* from 0000-03-01 to 1970-01-01 */

static void day_of(int64_t days_since_epoch, struct civil *ret) {
    int64_t days = days_since_epoch + DAYS_TO_EPOCH;
    int64_t era = days / DAYS_PER_ERA;
    int64_t day_of_era = days % DAYS_PER_ERA;
    int64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* 0 = March */
    ret->day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1);
    ret->month = (unsigned)(month < 10 ? month + 3 : month - 9);
    ret->year = (unsigned)(year + era * 400 + (ret->month <= 2));
}

struct civil civil_of(int64_t unix_ms) {
    struct civil c;
    int64_t days = unix_ms / MS_PER_DAY, rest = unix_ms % MS_PER_DAY;
    if (rest < 0) rest += MS_PER_DAY, days--;
    day_of(days, &c);
    c.hour = (unsigned)(rest / 3600000);
    c.minute = (unsigned)(rest / 60000 % 60);
    c.second = (unsigned)(rest / 1000 % 60);
    c.microsecond = (unsigned)(rest % 1000 * 1000);
    return c;
}

int64_t civil_to_ms(const struct civil *c) {
    int64_t year = (int64_t)c->year - (c->month <= 2);
    int64_t month = c->month > 2 ? c->month - 3 : c->month + 9;
    int64_t era = year / 400, year_of_era = year % 400;
    int64_t day_of_year = (153 * month + 2) / 5 + c->day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    int64_t days = era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
    return days * MS_PER_DAY + c->hour * INT64_C(3600000) + c->minute * INT64_C(60000) + c->second * INT64_C(1000) +
           c->microsecond / 1000;
}
