/* Every bound that more than one file needs, with its reason. */
#pragma once

#include <stdint.h>

#define SAFE_INTEGER_MAX INT64_C(9007199254740991) /* 2^53-1: what a JavaScript number holds exactly */
#define PRODUCT_ID_MAX SAFE_INTEGER_MAX
#define MONEY_MAX SAFE_INTEGER_MAX
#define STOCK_MAX SAFE_INTEGER_MAX
#define QUANTITY_MAX INT64_C(1000000)
#define ORDER_LINES_MAX 100                         /* lines of one order */
#define USER_ID_MAX 64                              /* characters = bytes we allow */
#define RESERVATION_TTL_MS_MIN INT64_C(1000)        /* as LOCKSTOCK_RESERVATION_TTL */
#define RESERVATION_TTL_MS_MAX INT64_C(31536000000) /* a year */
#define PRODUCT_NAME_MAX 255                        /* characters; the column's width */
#define REASON_MAX 200                              /* bytes of a free reason */
#define PAYMENT_KEY_MAX 255                         /* bytes */
#define IDEMPOTENCY_KEY_MAX 255                     /* bytes, printable ASCII */
#define CREDENTIAL_NAME_MAX 64                      /* bytes */
#define EVENT_ID_MAX 64        /* bytes of an event's id, ours or a stranger's: printable ASCII without blanks */
#define CONSUMER_GROUP_MAX 100 /* bytes, likewise */
#define BODY_MAX (1024 * 1024) /* bytes of a request body */
#define JSON_DEPTH_MAX 16
#define LIST_LIMIT_DEFAULT 50
#define LIST_LIMIT_MAX 500
#define OUTBOX_PARTS 64      /* part = CRC32(aggregate_id) % 64 */
#define TRAIN_LINES_MAX 4096 /* order lines one train carries */
