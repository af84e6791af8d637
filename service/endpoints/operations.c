/* What operators ask: alive, ready, how it goes, what it speaks. None of it waits for a dependency. */
#include "codec/json.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "metrics/metrics.h"

#include <string.h>

#define STATUS_OK 200

extern const char openapi_text[]; /* api/openapi.yaml, embedded by the build */

static void reply_text(struct request *request, const char *text, const char *content_type) {
    struct reply reply = reply_new(STATUS_OK);
    reply.content_type = content_type;
    reply.body = text_new(0);
    text_add_str(&reply.body, text);
    request_reply(request, reply);
}

void operations_healthz(struct request *request) { reply_text(request, "{\"status\":\"alive\"}", NULL); }

static const char *readiness(const struct service *service, bool degraded) {
    if (service->draining) return "draining";
    if (!service->schema_fits) return "starting";
    return degraded ? "degraded" : "ready";
}

void operations_readyz(struct request *request) {
    const struct service *service = service_of(request);
    bool mysql = pool_is_down(service->pool);
    bool redis = redis_is_configured(service->redis) && !redis_is_up(service->redis);
    bool ready = service->schema_fits && !service->draining;
    struct reply reply = reply_new(ready ? STATUS_OK : error_info(ERROR_UNAVAILABLE)->status);
    if (!ready) reply.retry_after_s = 1;
    reply.body = text_new(0);
    text_addf(&reply.body, "{\"status\":\"%s\",\"degraded\":[%s%s%s]}", readiness(service, mysql || redis),
              mysql ? "\"mysql\"" : "", mysql && redis ? "," : "", redis ? "\"redis\"" : "");
    request_reply(request, reply);
}

void operations_metrics(struct request *request) {
    struct reply reply = reply_new(STATUS_OK);
    reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    reply.body = text_new(0);
    metrics_write(&reply.body);
    request_reply(request, reply);
}

void operations_version(struct request *request) {
    reply_text(request, "{\"name\":\"lockstock\",\"version\":\"" LOCKSTOCK_VERSION "\"}", NULL);
}

void operations_openapi(struct request *request) { reply_text(request, openapi_text, "application/yaml"); }

void operations_problem(struct request *request) {
    enum error error = error_by_slug(request_param(request, 0));
    if (error == ERROR_NONE) {
        request_problem(request, ERROR_NOT_FOUND, "no problem of this name", NULL);
        return;
    }
    const struct error_info *info = error_info(error);
    struct reply reply = reply_new(STATUS_OK);
    reply.content_type = "text/plain; charset=utf-8";
    reply.body = text_new(0);
    text_addf(&reply.body, "%s (%s, HTTP %d)\n\n%s\n", info->title, info->code, info->status, info->advice);
    request_reply(request, reply);
}
