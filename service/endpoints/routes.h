/* The endpoints by name; routes.c gives them their paths. */
#pragma once

#include "http/request.h"

void orders_create(struct request *request);
void orders_get(struct request *request);
void orders_list_all(struct request *request);
void orders_payment_request(struct request *request);
void orders_payment(struct request *request);
void orders_cancel(struct request *request);
void orders_set_status(struct request *request);

void products_put_one(struct request *request);
void products_get(struct request *request);
void products_list_all(struct request *request);

void inventory_get(struct request *request);
void inventory_put(struct request *request);
void inventory_adjust(struct request *request);
void inventory_movements(struct request *request);
void inventory_audit(struct request *request);

void reservations_create(struct request *request);
void reservations_get(struct request *request);
void reservations_confirm(struct request *request);
void reservations_release(struct request *request);

void compensations_list_all(struct request *request);
void compensations_resolve_one(struct request *request);

void locks_put_one(struct request *request);
void locks_patch_one(struct request *request);
void locks_delete_one(struct request *request);
void locks_get_one(struct request *request);
void locks_events(struct request *request);
void locks_put_set(struct request *request);
void locks_patch_all(struct request *request);
void locks_delete_all(struct request *request);
void locks_list_all(struct request *request);
void semaphores_put_one(struct request *request);
void semaphores_patch_one(struct request *request);
void semaphores_delete_one(struct request *request);
void semaphores_get_one(struct request *request);
void fences_post(struct request *request);

void queues_list_all(struct request *request);
void jobs_post(struct request *request);
void jobs_list_all(struct request *request);
void jobs_get(struct request *request);
void jobs_patch(struct request *request);
void jobs_complete(struct request *request);
void jobs_retry(struct request *request);
void jobs_revive_one(struct request *request);
void claims_post(struct request *request);

void schedules_put_one(struct request *request);
void schedules_patch_one(struct request *request);
void schedules_delete_one(struct request *request);
void schedules_get_one(struct request *request);
void schedules_list_all(struct request *request);

void outbox_list_all(struct request *request);
void outbox_get_one(struct request *request);
void outbox_replay_one(struct request *request);
void outbox_discard_one(struct request *request);
void outbox_replay_all(struct request *request);

void events_post(struct request *request);
void dead_letters_list_all(struct request *request);
void dead_letters_get_one(struct request *request);
void dead_letters_replay_one(struct request *request);
void dead_letters_discard_one(struct request *request);

void webhooks_create(struct request *request);
void webhooks_list_all(struct request *request);
void webhooks_get_one(struct request *request);
void webhooks_delete_one(struct request *request);
void webhooks_deliveries(struct request *request);
void webhooks_replay(struct request *request);

void operations_healthz(struct request *request);
void operations_readyz(struct request *request);
void operations_metrics(struct request *request);
void operations_version(struct request *request);
void operations_openapi(struct request *request);
void operations_problem(struct request *request);
