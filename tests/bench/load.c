/* bench_load: options in, one JSON line out. Exit 0 when the load ran, whatever the service answered. */
#include "bench/load.h"

#include "bench/options.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_BODY "{\"userId\":\"bench-@n@\",\"items\":[{\"productId\":@product@,\"quantity\":@quantity@}]}"

/* http://a.b.c.d:port — nothing else: the driver runs beside the service. */
static bool parse_url(const char *url, struct load_options *options) {
    const char *start = url + strlen("http://");
    if (strncmp(url, "http://", strlen("http://")) != 0) return false;
    size_t len = strcspn(start, "/");
    const char *colon = memchr(start, ':', len);
    char ip[64];
    int64_t port = 80;
    size_t ip_len = colon ? (size_t)(colon - start) : len;
    if (colon && !text_parse_i64(colon + 1, len - ip_len - 1, &port)) return false;
    if (port < 1 || port > 65535 || !text_format(ip, sizeof ip, "%.*s", (int)ip_len, start)) return false;
    options->address.sin_family = AF_INET;
    options->address.sin_port = htons((uint16_t)port);
    if (!text_format(options->host, sizeof options->host, "%.*s", (int)len, start)) return false;
    return inet_pton(AF_INET, strcmp(ip, "localhost") == 0 ? "127.0.0.1" : ip, &options->address.sin_addr) == 1;
}

static void print_statuses(const char *name, const uint64_t *counts) {
    const char *comma = "";
    printf("\"%s\":{", name);
    for (int i = 0; i < LOAD_STATUS_MAX; i++) {
        if (!counts[i]) continue;
        printf("%s\"%d\":%llu", comma, i, (unsigned long long)counts[i]);
        comma = ",";
    }
    printf("},");
}

static void print_latencies(const struct load_result *result) {
    printf("\"latencyUs\":{\"all\":");
    latency_print(&result->all, stdout);
    for (int class = 1; class < 6; class ++) {
        if (!result->by_class[class].count) continue;
        printf(",\"%dxx\":", class);
        latency_print(&result->by_class[class], stdout);
    }
    printf("},");
}

static void print_result(const struct load_result *result) {
    double seconds = result->seconds > 0 ? result->seconds : 1;
    double count = result->all.count ? (double)result->all.count : 1;
    const uint64_t *errors = result->errors;
    printf("{\"seconds\":%.3f,\"requests\":%llu,\"rate\":%.1f,\"rate2xx\":%.1f,", result->seconds,
           (unsigned long long)result->all.count, (double)result->all.count / seconds,
           (double)result->by_class[2].count / seconds);
    printf("\"cycleRate\":%.1f,\"cycleUs\":", (double)result->cycles.count / seconds);
    latency_print(&result->cycles, stdout);
    printf(",");
    print_statuses("statuses", result->statuses);
    print_statuses("total", result->total);
    print_latencies(result);
    printf("\"errors\":{\"connect\":%llu,\"closed\":%llu,\"protocol\":%llu,\"timeout\":%llu},\"reconnects\":%llu,",
           (unsigned long long)errors[LOAD_CONNECT], (unsigned long long)errors[LOAD_CLOSED],
           (unsigned long long)errors[LOAD_PROTOCOL], (unsigned long long)errors[LOAD_TIMEOUT],
           (unsigned long long)result->reconnects);
    printf("\"cpuSeconds\":%.3f,\"cpuUsPerRequest\":%.2f}\n", result->cpu_seconds, result->cpu_seconds * 1e6 / count);
}

static bool is_sane(const struct load_options *options) {
    return options->connections >= 1 && options->connections <= LOAD_CONNECTIONS_MAX && options->products >= 1 &&
           options->seconds >= 0 && options->warmup_s >= 0 && options->timeout_ms >= 1;
}

int main(int argc, char **argv) {
    static struct load_options options = {.method = "",
                                          .path = "/v1/orders",
                                          .header = "",
                                          .body = ORDER_BODY,
                                          .connections = 64,
                                          .warmup_s = 1,
                                          .seconds = 5,
                                          .products = 1,
                                          .quantity = 1,
                                          .seed = 1,
                                          .timeout_ms = 30000};
    static struct load_result result;
    const char *steps = "";
    const char *url = "http://127.0.0.1:8080";
    const struct option_row rows[] = {
        {"url", "http://IP:PORT of the service", .text = &url},
        {"method", "default: POST with a body, GET without", .text = &options.method},
        {"path", "raw target; @product@ @quantity@ @n@ are replaced", .text = &options.path},
        {"body", "default: an order of one line; \"\" = none; the same marks", .text = &options.body},
        {"header", "one more header line", .text = &options.header},
        {"steps", "a file of requests to be sent in turn instead (steps.h)", .text = &steps},
        {"connections", "kept open at once", .number = &options.connections},
        {"warmup", "seconds before the window", .number = &options.warmup_s},
        {"seconds", "length of the window", .number = &options.seconds},
        {"requests", "end after so many replies instead", .number = &options.requests},
        {"products", "product ids 1..N, uniform", .number = &options.products},
        {"quantity", "pieces of a line", .number = &options.quantity},
        {"seed", "of the generator", .number = &options.seed},
        {"backoff-ms", "rest of a connection after a 429 or 503", .number = &options.backoff_ms},
        {"timeout-ms", "a slower reply is an error", .number = &options.timeout_ms},
        {"key", "a fresh Idempotency-Key per request", .flag = &options.keyed},
        {0},
    };
    if (!options_parse(argc, argv, rows)) return 2;
    if (!parse_url(url, &options) || !is_sane(&options)) return options_usage(argv[0], rows);
    if (steps[0] && !steps_read(&options.steps, steps)) return 2;
    if (!options.method[0]) options.method = options.body[0] ? "POST" : "GET";
    if (!load_run(&options, &result)) return 1;
    print_result(&result);
    return 0;
}
