#include "endpoints/routes.h"

#include "endpoints/service.h"

const struct route service_routes[] = {
    {HTTP_POST, "/v1/orders", orders_create, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/orders", orders_list_all, SCOPE_ORDERS, ROUTE_QUERY},
    {HTTP_GET, "/v1/orders/{id}", orders_get, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders/{id}/payment-request", orders_payment_request, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders/{id}/payment", orders_payment, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders/{id}/cancel", orders_cancel, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders/{id}/status", orders_set_status, SCOPE_ADMIN, 0},

    {HTTP_GET, "/v1/products", products_list_all, SCOPE_INVENTORY | SCOPE_ORDERS, ROUTE_QUERY},
    {HTTP_GET, "/v1/products/{productId}", products_get, SCOPE_INVENTORY | SCOPE_ORDERS, 0},
    {HTTP_PUT, "/v1/products/{productId}", products_put_one, SCOPE_INVENTORY, 0},

    {HTTP_GET, "/v1/inventory/audit", inventory_audit, SCOPE_INVENTORY, 0},
    {HTTP_GET, "/v1/inventory/{productId}", inventory_get, SCOPE_INVENTORY | SCOPE_ORDERS, 0},
    {HTTP_PUT, "/v1/inventory/{productId}", inventory_put, SCOPE_INVENTORY, 0},
    {HTTP_POST, "/v1/inventory/{productId}/adjustments", inventory_adjust, SCOPE_INVENTORY, 0},
    {HTTP_GET, "/v1/inventory/{productId}/movements", inventory_movements, SCOPE_INVENTORY, ROUTE_QUERY},

    {HTTP_POST, "/v1/reservations", reservations_create, SCOPE_INVENTORY, 0},
    {HTTP_GET, "/v1/reservations/{orderId}", reservations_get, SCOPE_INVENTORY, 0},
    {HTTP_POST, "/v1/reservations/{orderId}/confirm", reservations_confirm, SCOPE_INVENTORY, 0},
    {HTTP_POST, "/v1/reservations/{orderId}/release", reservations_release, SCOPE_INVENTORY, 0},

    {HTTP_GET, "/v1/compensations", compensations_list_all, SCOPE_ORDERS, ROUTE_QUERY},
    {HTTP_POST, "/v1/compensations/{id}/resolve", compensations_resolve_one, SCOPE_ADMIN, 0},

    {HTTP_PUT, "/v1/locks", locks_put_set, SCOPE_LOCKS, 0},
    {HTTP_PATCH, "/v1/locks", locks_patch_all, SCOPE_LOCKS, 0},
    {HTTP_DELETE, "/v1/locks", locks_delete_all, SCOPE_LOCKS, 0},
    {HTTP_GET, "/v1/locks", locks_list_all, SCOPE_LOCKS, ROUTE_QUERY},
    {HTTP_PUT, "/v1/locks/{name}", locks_put_one, SCOPE_LOCKS, 0},
    {HTTP_PATCH, "/v1/locks/{name}", locks_patch_one, SCOPE_LOCKS, ROUTE_QUERY},
    {HTTP_DELETE, "/v1/locks/{name}", locks_delete_one, SCOPE_LOCKS, ROUTE_QUERY},
    {HTTP_GET, "/v1/locks/{name}", locks_get_one, SCOPE_LOCKS, 0},
    {HTTP_GET, "/v1/locks/{name}/events", locks_events, SCOPE_LOCKS, 0},
    {HTTP_PUT, "/v1/semaphores/{name}", semaphores_put_one, SCOPE_LOCKS, 0},
    {HTTP_PATCH, "/v1/semaphores/{name}", semaphores_patch_one, SCOPE_LOCKS, ROUTE_QUERY},
    {HTTP_DELETE, "/v1/semaphores/{name}", semaphores_delete_one, SCOPE_LOCKS, ROUTE_QUERY},
    {HTTP_GET, "/v1/semaphores/{name}", semaphores_get_one, SCOPE_LOCKS, 0},
    {HTTP_POST, "/v1/fences/{name}", fences_post, SCOPE_LOCKS, 0},

    {HTTP_GET, "/v1/queues", queues_list_all, SCOPE_JOBS, ROUTE_QUERY},
    {HTTP_POST, "/v1/queues/{queue}/jobs", jobs_post, SCOPE_JOBS, 0},
    {HTTP_GET, "/v1/queues/{queue}/jobs", jobs_list_all, SCOPE_JOBS, ROUTE_QUERY},
    {HTTP_GET, "/v1/queues/{queue}/jobs/{id}", jobs_get, SCOPE_JOBS, 0},
    {HTTP_PATCH, "/v1/queues/{queue}/jobs/{id}", jobs_patch, SCOPE_JOBS, 0},
    {HTTP_POST, "/v1/queues/{queue}/jobs/{id}/complete", jobs_complete, SCOPE_JOBS, 0},
    {HTTP_POST, "/v1/queues/{queue}/jobs/{id}/retry", jobs_retry, SCOPE_JOBS, 0},
    {HTTP_POST, "/v1/queues/{queue}/jobs/{id}/revive", jobs_revive_one, SCOPE_ADMIN, 0},
    {HTTP_POST, "/v1/queues/{queue}/claims", claims_post, SCOPE_JOBS, 0},

    {HTTP_GET, "/v1/schedules", schedules_list_all, SCOPE_SCHEDULES, ROUTE_QUERY},
    {HTTP_PUT, "/v1/schedules/{name}", schedules_put_one, SCOPE_SCHEDULES, 0},
    {HTTP_PATCH, "/v1/schedules/{name}", schedules_patch_one, SCOPE_SCHEDULES, 0},
    {HTTP_DELETE, "/v1/schedules/{name}", schedules_delete_one, SCOPE_SCHEDULES, 0},
    {HTTP_GET, "/v1/schedules/{name}", schedules_get_one, SCOPE_SCHEDULES, 0},

    {HTTP_GET, "/v1/outbox", outbox_list_all, SCOPE_EVENTS, ROUTE_QUERY},
    {HTTP_POST, "/v1/outbox/replay", outbox_replay_all, SCOPE_ADMIN, 0},
    {HTTP_GET, "/v1/outbox/{eventId}", outbox_get_one, SCOPE_EVENTS, 0},
    {HTTP_POST, "/v1/outbox/{eventId}/replay", outbox_replay_one, SCOPE_EVENTS, 0},
    {HTTP_POST, "/v1/outbox/{eventId}/discard", outbox_discard_one, SCOPE_EVENTS, 0},

    {HTTP_POST, "/v1/events", events_post, SCOPE_EVENTS, 0},
    {HTTP_GET, "/v1/dead-letters", dead_letters_list_all, SCOPE_EVENTS, ROUTE_QUERY},
    {HTTP_GET, "/v1/dead-letters/{id}", dead_letters_get_one, SCOPE_EVENTS, 0},
    {HTTP_POST, "/v1/dead-letters/{id}/replay", dead_letters_replay_one, SCOPE_ADMIN, 0},
    {HTTP_POST, "/v1/dead-letters/{id}/discard", dead_letters_discard_one, SCOPE_ADMIN, 0},

    {HTTP_POST, "/v1/webhooks", webhooks_create, SCOPE_EVENTS, 0},
    {HTTP_GET, "/v1/webhooks", webhooks_list_all, SCOPE_EVENTS, ROUTE_QUERY},
    {HTTP_GET, "/v1/webhooks/{webhookId}", webhooks_get_one, SCOPE_EVENTS, 0},
    {HTTP_DELETE, "/v1/webhooks/{webhookId}", webhooks_delete_one, SCOPE_EVENTS, 0},
    {HTTP_GET, "/v1/webhooks/{webhookId}/deliveries", webhooks_deliveries, SCOPE_EVENTS, ROUTE_QUERY},
    {HTTP_POST, "/v1/webhooks/{webhookId}/deliveries/{deliveryId}/replay", webhooks_replay, SCOPE_EVENTS, 0},

    {HTTP_GET, "/healthz", operations_healthz, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/readyz", operations_readyz, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/metrics", operations_metrics, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/version", operations_version, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/openapi.yaml", operations_openapi, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/problems/{slug}", operations_problem, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
};
const size_t service_route_count = sizeof service_routes / sizeof service_routes[0];
