"""What is measured: each row is a function of the stand that makes one run and returns its figures.

rate = orders per second, p50 / p99 in microseconds, cores = CPU by process. The plan runs all rows once, then all again,
so that a slow quarter of an hour of the machine falls on every row alike."""

import statistics
import time

from claim_rows import claim_rows
from lock_rows import lock_rows
from relay_rows import relay_rows
from stand import Checked, foreign_now, rss_kib, serve

PRODUCTS_MANY = 1000
QUEUE_SMALL = 256
BACKOFF_MS = 1000  # what a client does that heeds Retry-After: 1


class Times:
    """How long a run takes, and how much foreign work beside it is borne."""

    def __init__(self, seconds, warmup, foreign_max=99.0, calm_s=0, again=0):
        self.seconds, self.warmup = seconds, warmup
        self.foreign_max, self.calm_s, self.again = foreign_max, calm_s, again

    def options(self):
        return ["--seconds", self.seconds, "--warmup", self.warmup]


def _figures(result, rate, latency):
    return {"rate": rate, "p50": latency["p50"], "p99": latency["p99"], "cores": result["cores"]}


def _load(stand, service, times, connections, products=1, more=()):
    return stand.tool("load", "--url", f"http://127.0.0.1:{service.port}", "--connections", connections, "--products",
                      products, *times.options(), *more, beside={"service": service.pid})


def _check_answers(result, database):
    """Orders made and orders refused, nothing else; the database holds exactly those answered 201."""
    odd = {status: n for status, n in result["total"].items() if status not in ("201", "503")}
    if odd or any(result["errors"].values()):
        raise AssertionError(f"unexpected replies: {odd}, errors: {result['errors']}")
    Checked(database).stock_is(result["total"].get("201", 0))


STAGES = ("lock", "transaction", "commit", "unlock")


def _trains(service):
    """Mean size of a train, and mean milliseconds of its stages."""
    metrics = service.metrics()
    trains = metrics.value("lockstock_trains_total", outcome="committed")
    stages = {}
    for stage in STAGES:
        count = metrics.value("lockstock_train_stage_seconds_count", stage=stage)
        stages[stage] = metrics.value("lockstock_train_stage_seconds_sum", stage=stage) * 1000 / max(count, 1)
    return {"train": metrics.value("lockstock_train_commands_total") / max(trains, 1), **stages}


def _with_service(stand, settings, products, body):
    """body(service, database) on a fresh database; the service has to stop in order."""
    database = stand.database(products)
    service = serve(stand, database, settings)
    try:
        return body(service, database)
    finally:
        status = service.stop()
        stand.drop(database)
        if status != 0:
            raise AssertionError(f"the service ended with {status}: {service.tail()}")


def orders(connections, products=1, settings=None):
    """Orders over HTTP, closed loop."""
    def measure(stand, times):
        def body(service, database):
            result = _load(stand, service, times, connections, products)
            _check_answers(result, database)
            return {**_figures(result, result["rate2xx"], result["latencyUs"]["all"]), **_trains(service),
                    "driver_us": result["cpuUsPerRequest"], "refused": result["statuses"].get("503", 0)}
        return _with_service(stand, settings or {}, products, body)
    return measure


def overload(connections, backoff_ms):
    """More connections than the queue holds. Refusals are judged apart from the orders."""
    def measure(stand, times):
        def body(service, database):
            result = _load(stand, service, times, connections, more=["--backoff-ms", backoff_ms])
            _check_answers(result, database)
            refused = result["latencyUs"].get("5xx", {"count": 0, "p50": 0, "p99": 0})
            return {**_figures(result, result["rate2xx"], result["latencyUs"]["2xx"]), "refused_p50": refused["p50"],
                    "refused_p99": refused["p99"], "refused_rate": refused["count"] / result["seconds"]}
        return _with_service(stand, {"LOCKSTOCK_QUEUE_MAX": QUEUE_SMALL}, 1, body)
    return measure


def _on_database(stand, body):
    database = stand.database(1)
    try:
        return body(database)
    finally:
        stand.drop(database)


def seed_way(poll_ms=0, clients=1):
    """One Redis lock and one transaction per order, 64 threads."""
    def measure(stand, times):
        def body(database):
            result = stand.tool("seed_way", "--mysql", database.url(), "--redis-port", stand.redis.port, "--poll-ms",
                                poll_ms, "--clients", clients, *times.options())
            tries = result["tries"] / max(result["orders"], 1)
            return {**_figures(result, result["rate"], result["latencyUs"]), "tries": tries, "conflicts": result["conflicts"], "busy": result["busy"]}
        return _on_database(stand, body)
    return measure


def bare_loop(batch, threads=1):
    """batch: a number, or a function that gives it when the run begins."""
    def measure(stand, times):
        size = batch() if callable(batch) else batch

        def body(database):
            result = stand.tool("bare_loop", "--mysql", database.url(), "--batch", size, "--threads", threads,
                                *times.options())
            return {**_figures(result, result["rate"], result["transactionUs"]), "train": float(size),
                    "steps": result["stepsUs"]}
        return _on_database(stand, body)
    return measure


def lone_bare():
    """A transaction of one order between two Redis round trips, no HTTP."""
    def measure(stand, times):
        def body(database):
            result = stand.tool("bare_loop", "--lone", "--mysql", database.url(), "--redis-port", stand.redis.port,
                                *times.options())
            rate = 1e6 / max(result["wholeUs"]["p50"], 1)
            return {**_figures(result, rate, result["wholeUs"]), "transaction_p50": result["transactionUs"]["p50"],
                    "redis_p50": result["redisUs"]["p50"], "steps": result["stepsUs"]}
        return _on_database(stand, body)
    return measure


def soak(stand, seconds):
    """Resident memory over a long run under full load: sampled every tenth of it."""
    def body(service, database):
        samples = []
        for _ in range(10):
            result = _load(stand, service, Times(max(seconds // 10, 1), 0), 256)
            samples.append(rss_kib(service.pid))
            if any(result["errors"].values()) or set(result["total"]) != {"201"}:
                raise AssertionError(f"soak: {result['total']} {result['errors']}")
        return {"seconds": seconds, "rss_kib": samples, "orders": database.count("orders")}
    return _with_service(stand, {}, 1, body)


def median(runs, name):
    """Median, least and greatest of a figure over the runs."""
    values = [run[name] for run in runs if name in run]
    return (statistics.median(values), min(values), max(values)) if values else (0.0, 0.0, 0.0)


def _wait_for_calm(stand, times):
    """Until others use less than the bound, calm_s at most."""
    end = time.monotonic() + times.calm_s
    while time.monotonic() < end and foreign_now(stand.pids(), 1) > times.foreign_max:
        pass


class Plan:
    """Rows by name, and the runs made of each."""

    def __init__(self):
        self.runs, self.failures, self._rows = {}, [], {}
        single, wide = {"LOCKSTOCK_TRAIN_MAX": 1}, {"LOCKSTOCK_TRAIN_MAX": 1, "LOCKSTOCK_TRAIN_SLOTS": 14,
                                                    "LOCKSTOCK_DB_WORKERS": 16}
        for connections in (64, 256, 1024):
            self._rows[f"hot {connections}"] = orders(connections)
            self._rows[f"hot {connections}, TRAIN_MAX=1"] = orders(connections, settings=single)
        self._rows["many 256"] = orders(256, PRODUCTS_MANY)
        self._rows["many 256, TRAIN_MAX=1"] = orders(256, PRODUCTS_MANY, single)
        self._rows["many 256, TRAIN_MAX=1, 14 slots"] = orders(256, PRODUCTS_MANY, wide)
        self._rows["seed way, pub/sub"] = seed_way()
        self._rows["seed way, pub/sub, a client per thread"] = seed_way(clients=64)
        self._rows["seed way, 1 ms poller"] = seed_way(poll_ms=1)
        self._rows["bare loop, 128"] = bare_loop(128)
        self._rows["bare loop, 256"] = bare_loop(256)
        self._rows["bare loop, trains of hot 256"] = bare_loop(self._train_of_hot)
        self._rows["bare loop, 256, two threads"] = bare_loop(256, threads=2)
        self._rows["one connection"] = orders(1)
        self._rows["bare transaction and two Redis trips"] = lone_bare()
        self._rows["queue full to the brim"] = overload(QUEUE_SMALL, 0)
        self._rows["queue twice over, refused wait"] = overload(2 * QUEUE_SMALL, BACKOFF_MS)
        self._rows["queue twice over, refused ask again at once"] = overload(2 * QUEUE_SMALL, 0)
        self.of_locks = lock_rows(_with_service)
        self._rows.update(self.of_locks)
        self._rows["hot 256, LOCKSTOCK_JOBS=off"] = orders(256, settings={"LOCKSTOCK_JOBS": 0})
        self._rows["hot 256, LOCKSTOCK_SINKS empty"] = orders(256, settings={"LOCKSTOCK_SINKS": ""})
        self._rows.update(relay_rows(_with_service))
        self._rows.update(claim_rows(_with_service))

    def _train_of_hot(self):
        runs = self.runs.get("hot 256", [])
        return max(1, round(median(runs, "train")[0])) if runs else 256

    def names(self):
        return list(self._rows)

    def run(self, stand, names, times, log):
        """One run of each row; a row that fails does not take the others with it."""
        for name in names:
            try:
                self.runs.setdefault(name, []).append(self._calmest(stand, name, times, log))
            except (AssertionError, RuntimeError, OSError) as fault:
                self.failures.append(f"{name}: {fault}")
                log(f"FAILED {self.failures[-1]}")
        self.runs = {name: runs for name, runs in self.runs.items() if runs}

    def _calmest(self, stand, name, times, log):
        """A run beside others' work is made again, up to times.again times; the calmest counts."""
        tried = []
        while len(tried) <= times.again:
            _wait_for_calm(stand, times)
            figures = self._rows[name](stand, times)
            tried.append(figures)
            log(f"{name}: {figures['rate']:.0f}/s, p50 {figures['p50'] / 1000:.2f} ms, p99 "
                f"{figures['p99'] / 1000:.2f} ms, foreign {figures['cores']['foreign']:.2f} cores")
            if figures["cores"]["foreign"] <= times.foreign_max:
                break
        return min(tried, key=lambda f: f["cores"]["foreign"])
