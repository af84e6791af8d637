"""What operators use: health, readiness, metrics, version, documents, commands, and starts in bad weather."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import service as service_module  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.service import ROOT
from support.wait import eventually, free_port


def rows_of(path, pattern):
    with open(os.path.join(ROOT, "service", path), encoding="utf-8") as file:
        return re.findall(pattern, file.read(), re.M)


ERRORS = rows_of("base/errors.def", r'^ERR\(\w+, "([^"]+)", (\d+), "([^"]+)", "([^"]+)"')
METRICS = rows_of("metrics/metrics.def", r'^METRIC_(COUNTER|GAUGE|HISTOGRAM)\(\w+, "([^"]+)"')


class Documents(Case):
    def test_healthz__then_200(self):
        self.assertEqual(self.http.get("/healthz").status, 200)

    def test_readyz__when_all_is_well__then_ready(self):
        reply = self.http.get("/readyz")
        self.assertEqual((reply.status, reply.json["status"], reply.json["degraded"]), (200, "ready", []))

    def test_version__then_it_names_itself(self):
        version = self.http.get("/version").json["version"]
        self.assertRegex(version, r"^\d+\.\d+\.\d+")
        done = service_module.run(["version"], {})
        self.assertEqual(done.returncode, 0)
        self.assertIn(version, done.stdout)

    def test_openapi__then_the_file_of_the_project(self):
        reply = self.http.get("/openapi.yaml")
        self.assertEqual(reply.status, 200)
        self.assertIn("yaml", reply.headers["content-type"])
        with open(os.path.join(ROOT, "api", "openapi.yaml"), "rb") as file:
            self.assertEqual(reply.body, file.read())

    def test_problems__when_a_slug_of_the_table__then_a_page_that_explains_it(self):
        self.assertGreater(len(ERRORS), 30)
        for code, status, slug, title in ERRORS:
            with self.subTest(slug=slug):
                reply = self.http.get(f"/problems/{slug}")
                text = reply.body.decode()
                self.assertEqual(reply.status, 200)
                self.assertTrue(code in text and title in text and status in text, text)
        self.assert_problem(self.http.get("/problems/no-such-slug"), 404, "SYS-013")

    def test_metrics__then_prometheus_text_with_every_row_of_the_table(self):
        self.ordered((self.product(), 1))
        reply = self.http.get("/metrics")
        self.assertTrue(reply.headers["content-type"].startswith("text/plain"), reply.headers)
        metrics = self.service.metrics()
        self.assertGreater(len(METRICS), 20)
        for kind, name in METRICS:
            with self.subTest(name=name):
                self.assertIn(f"# TYPE {name} {kind.lower()}\n", metrics.page)
                self.assertIn(f"# HELP {name} ", metrics.page)
                self.assertIn(name + ("_count" if kind == "HISTOGRAM" else ""), metrics.samples)

    def test_metrics__when_histograms__then_buckets_grow_and_end_in_the_count(self):
        self.ordered((self.product(), 1))
        samples = self.service.metrics().samples
        for _, name in (row for row in METRICS if row[0] == "HISTOGRAM"):
            series = {}
            for labels, value in samples[name + "_bucket"].items():
                rest = re.sub(r',?le="[^"]*"', "", labels)
                series.setdefault(rest, []).append(value)
                if 'le="+Inf"' in labels:
                    self.assertEqual(value, samples[name + "_count"].get(rest), (name, labels))
            for values in series.values():
                self.assertEqual(values, sorted(values), name)

    def test_metrics__when_an_order_is_made__then_its_train_is_counted(self):
        before = self.service.metrics()
        lamp = self.product()
        self.ordered((lamp, 1))
        after = self.service.metrics()
        grown = lambda name, **labels: after.value(name, **labels) - before.value(name, **labels)
        self.assertEqual(grown("lockstock_trains_total", outcome="committed"), 1)
        self.assertEqual(grown("lockstock_train_commands_total"), 1)
        self.assertEqual(grown("lockstock_http_requests_total", route="POST /v1/orders", status="201"), 1)
        for stage in ("queue", "lock", "transaction", "commit", "unlock"):
            eventually(lambda s=stage: self.service.metric("lockstock_train_stage_seconds_count", stage=s)
                       > before.value("lockstock_train_stage_seconds_count", stage=s), 2, stage)
        self.assertEqual(after.value("lockstock_unlock_before_commit_total"), 0)

    def test_help__then_every_setting_is_listed(self):
        done = service_module.run(["--help"], {})
        self.assertEqual(done.returncode, 0)
        names = rows_of("config/settings.def", r'"(LOCKSTOCK_[A-Z_]+)"')
        self.assertEqual([n for n in names if n not in done.stdout], [])

    def test_command__when_unknown__then_an_error(self):
        self.assertGreater(service_module.run(["fly"], {}).returncode, 0)
        self.assertGreater(service_module.run([], {}).returncode, 0)

    def test_healthcheck__then_its_status_tells(self):
        settings = {"LOCKSTOCK_LISTEN": f"127.0.0.1:{self.service.port}"}
        self.assertEqual(service_module.run(["healthcheck"], settings).returncode, 0)
        settings = {"LOCKSTOCK_LISTEN": f"127.0.0.1:{free_port()}"}
        self.assertGreater(service_module.run(["healthcheck"], settings).returncode, 0)

    def test_migrate__when_again__then_nothing_to_do(self):
        for _ in range(2):
            self.migrate()
        self.assertEqual(self.http.get("/readyz").json["status"], "ready")


class AdminPort(Case):
    INSTANCES = 0

    def test_admin_listen__when_set__then_operations_answer_there_and_only_there(self):
        port = free_port()
        service = self.instance("admin", env={"LOCKSTOCK_ADMIN_LISTEN": f"127.0.0.1:{port}"}).start(until=None)
        main_port, service.port = service.port, port
        eventually(lambda: service._status("/readyz") == 200, 10, "ready")  # pylint: disable=protected-access
        for path in ("/healthz", "/readyz", "/metrics", "/version"):
            self.assertEqual(service.get(path).status, 200, path)
        self.assertEqual(service.get("/v1/orders").status, 404)
        service.port = main_port
        self.assertEqual(service.get("/v1/orders").status, 200)
        self.assertEqual(service.get("/metrics").status, 404)


class Weather(Case):
    """Redis and MySQL come and go under a running instance."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.stack.heal)

    def test_readyz__when_redis_goes__then_degraded_and_orders_go_on(self):
        lamp = self.product()
        self.redis.kill()
        for _ in range(3):
            self.ordered((lamp, 1))
        self.until_ready("redis")
        reply = self.http.get("/readyz")
        self.assertEqual((reply.status, reply.json["status"]), (200, "degraded"))
        reply = self.order((lamp, 1))
        self.assertEqual((reply.status, reply.headers.get("lockstock-degraded")), (201, "redis"))
        self.assertGreaterEqual(self.metric("lockstock_fail_open_total"), 1)
        self.assertEqual(self.metric("lockstock_redis_up"), 0)
        self.redis.start()
        self.until_ready()
        self.assertEqual(self.metric("lockstock_redis_up"), 1)
        reply = self.order((lamp, 1))
        self.assertEqual((reply.status, reply.headers.get("lockstock-degraded")), (201, None))
        self.assertTrue([e for e in self.service.log() if e["level"] == "warn"], "the loss is logged")

    def test_readyz__when_mysql_goes__then_degraded_503_and_recovery(self):
        lamp = self.product()
        self.stack.mysql.stop()
        reply = self.order((lamp, 1))
        self.assert_problem(reply, 503, "SYS-011")
        self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
        reply = self.http.get("/v1/orders")
        self.assert_problem(reply, 503, "SYS-011")
        self.assertIn("retry-after", reply.headers)
        self.until_ready("mysql")
        self.assertEqual(self.http.get("/readyz").status, 200)
        self.assertEqual(self.http.get("/healthz").status, 200)
        self.stack.mysql.start()
        eventually(lambda: self.order((lamp, 1)).status == 201, 15, "orders again")
        self.until_ready()
        self.until_served()

    def test_redis__when_it_may_evict__then_a_metric_warns(self):
        self.redis.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        self.redis.call("CLIENT", "KILL", "TYPE", "normal")
        eventually(lambda: self.metric("lockstock_redis_may_evict") == 1, 10, "lockstock_redis_may_evict")
        self.redis.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        self.redis.call("CLIENT", "KILL", "TYPE", "normal")
        eventually(lambda: self.metric("lockstock_redis_may_evict") == 0, 10, "lockstock_redis_may_evict")


class Starts(Case):
    INSTANCES = 0

    def setUp(self):
        self.addCleanup(self.stack.heal)

    def serve(self, name, until="ready", **env):
        service = self.instance(name, env=env).start(until)
        self.http = service.http()
        self.addCleanup(self.http.close)
        self.addCleanup(service.stop)
        return service

    def test_start__when_redis_is_away__then_it_serves_and_finds_it_later(self):
        self.redis.kill()
        service = self.serve("no-redis")
        self.ordered((self.product(), 1))
        self.assertEqual(self.http.get("/readyz").json, {"status": "degraded", "degraded": ["redis"]})
        self.redis.start()
        eventually(lambda: service.get("/readyz").json["status"] == "ready", 10, "ready")

    def test_start__when_no_redis_is_configured__then_it_serves(self):
        self.serve("never-redis", LOCKSTOCK_REDIS_URL="")
        self.ordered((self.product(), 1))
        self.assertEqual(self.http.get("/readyz").status, 200)

    def test_start__when_mysql_is_away__then_alive_not_ready_and_ready_when_it_comes(self):
        self.stack.mysql.stop()
        service = self.serve("no-mysql", "alive")
        self.assertEqual(self.http.get("/readyz").status, 503)
        self.assert_problem(self.http.get("/v1/orders"), 503, "SYS-011")
        self.assertEqual(self.http.get("/healthz").status, 200)
        self.stack.mysql.start()
        eventually(lambda: service.get("/readyz").status == 200, 15, "ready")
        self.ordered((self.product(), 1))

    def test_start__when_nothing_is_migrated__then_not_ready_until_it_is(self):
        empty = self.stack.mysql.new_database()
        service = self.serve("empty", "alive", LOCKSTOCK_MYSQL_URL=empty.url())
        self.assertEqual(self.http.get("/readyz").status, 503)
        done = service_module.run(["migrate"], {"LOCKSTOCK_MYSQL_URL": empty.url()})
        self.assertEqual(done.returncode, 0, done.stderr)
        eventually(lambda: service.get("/readyz").status == 200, 15, "ready")

    def test_stop__when_idle__then_exit_0_soon_and_the_port_is_free(self):
        service = self.instance("stopper").start()
        idle = service.http()
        idle.get("/healthz")
        self.assertEqual(service.stop(10), 0)
        self.assertLess(service.stopped_in_s, 5)
        with self.assertRaises(OSError):
            idle.exchange(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


if __name__ == "__main__":
    main()
