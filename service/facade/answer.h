/* Answers: what was decided, as status, headers and document. Any thread. */
#pragma once

#include "domain/decide.h"
#include "facade/rider.h"

/* Problem document; extras: members without braces or NULL. Replaces an earlier answer. */
void answer_problem(struct rider *rider, enum error error, const char *detail, const char *extras);
/* From a decision. Stock commands get status and body later, by answer_stock. */
void answer_decision(struct rider *rider, const struct decision *decision);
void answer_stock(struct rider *rider, const struct stock_row *row);
