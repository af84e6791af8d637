#include "domain/stock.h"

#include <string.h>

static const char *const NAMES[MOVEMENT_KIND_COUNT] = {
    [MOVEMENT_INITIAL] = "INITIAL", [MOVEMENT_OPENING] = "OPENING", [MOVEMENT_ORDER] = "ORDER",
    [MOVEMENT_RESTORE] = "RESTORE", [MOVEMENT_ADJUST] = "ADJUST",   [MOVEMENT_SET] = "SET",
    [MOVEMENT_FOREIGN] = "FOREIGN",
};

const char *movement_kind_name(enum movement_kind kind) { return NAMES[kind]; }

bool movement_kind_parse(const char *name, enum movement_kind *ret) {
    for (int i = 0; i < MOVEMENT_KIND_COUNT; i++) {
        if (strcmp(name, NAMES[i]) != 0) continue;
        *ret = (enum movement_kind)i;
        return true;
    }
    return false;
}
