/* The one table from MySQL's error numbers and SQLSTATEs to ours. Pure. */
#pragma once

#include "base/result.h"

/* What an error says about the connection and its transaction. */
struct db_error {
    enum error error;
    bool unusable; /* the connection's state is unknown: close it */
    bool aborted;  /* the server has already rolled the whole transaction back */
};

/* number: mysql_errno() (server or client library); sqlstate: five characters, may be "". */
struct db_error db_error_of(unsigned number, const char *sqlstate);
