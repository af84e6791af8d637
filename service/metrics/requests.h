/* The two families that are keyed by route: their part of the page and of the docs. Inside metrics/ only. */
#pragma once

#include "base/text.h"

#define REQUESTS_NAME "lockstock_http_requests_total"
#define REQUESTS_HELP "answered requests by route and status"
#define REQUEST_SECONDS_NAME "lockstock_http_request_seconds"
#define REQUEST_SECONDS_HELP "time of an answered request by route"

void requests_write(struct text *out);
