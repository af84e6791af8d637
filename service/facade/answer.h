/* Answers: what was decided, as status, headers and document. Any thread. */
#pragma once

#include "domain/decide.h"
#include "facade/rider.h"

/* Extras of PRD-004: the product, and after how long to try again. */
#define STOCK_BUSY_EXTRAS "\"productId\":%lld,\"retryAfterMs\":100"

/* Problem document; extras: members without braces or NULL. Replaces an earlier answer. */
void answer_problem(struct rider *rider, enum error error, const char *detail, const char *extras);
/* From a decision. Stock commands get status and body later, by answer_stock. */
void answer_decision(struct rider *rider, const struct decision *decision);
/* The rider's event was processed before; settled. */
void answer_duplicate(struct rider *rider);
void answer_stock(struct rider *rider, const struct stock_row *row);
