"""Rows about queues of jobs: workers that claim and complete, side by side.

rate = jobs per second from their claim to DONE, all workers together; p50 and p99 those of a claim (the worst worker's).
Each worker is a process of its own that sends one request after the other. With the default of LOCKSTOCK_DB_WORKERS one
of them is free for such requests; the rows "of 8" have five."""

import json
import os
import statistics
import subprocess
import sys

from stand import Cpu, children_s

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "claim_worker.py")
QUEUE = "bench"
JOBS_MAX = 1 << 17
LIMIT = 10
WORKERS = (1, 2, 4)


def fill(database):
    database.run("INSERT INTO jobs (queue, payload, max_attempts, created_at, due_at) VALUES"
                 " (%s, '{\"to\":\"u-1\"}', 10, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))", QUEUE)
    while database.count("jobs") < JOBS_MAX:
        database.run("INSERT INTO jobs (queue, payload, max_attempts, created_at, due_at)"
                     " SELECT queue, payload, max_attempts, created_at, due_at FROM jobs")


def run_workers(stand, service, times, count, limit):
    """Their results, and the cores used meanwhile."""
    cpu, before = Cpu({**stand.pids(), "service": service.pid}), children_s()
    argv = [sys.executable, WORKER, service.port, QUEUE, limit, times.warmup, times.seconds]
    workers = [subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True) for _ in range(count)]
    results = [json.loads(worker.communicate()[0] or "null") for worker in workers]
    if None in results:
        raise RuntimeError("a worker ended in an error")
    return results, cpu.cores(children_s() - before)


def check(database, results):
    """Each job was done by one worker, at its first claim."""
    done = [job for result in results for job in result["done"]]
    wrong = {"twice": len(done) - len(set(done)), "not in the table": len(done) - database.count("jobs", "status='DONE'"),
             "claimed again": database.count("jobs", "fence > 1")}
    if any(wrong.values()):
        raise AssertionError(f"{len(done)} jobs were completed, but {wrong}")


def claims(with_service, count, limit, settings=None):
    def measure(stand, times):
        def body(service, database):
            fill(database)
            results, cores = run_workers(stand, service, times, count, limit)
            check(database, results)
            jobs = [result["jobs"] for result in results]
            return {"rate": sum(jobs), "p50": statistics.median(r["p50"] for r in results),
                    "p99": max(r["p99"] for r in results), "cores": cores, "claims": sum(r["claims"] for r in results),
                    "end_p50": statistics.median(r["end_p50"] for r in results), "least_share": count * min(jobs) / sum(jobs)}
        return with_service(stand, settings or {}, 1, body)
    return measure


def claim_rows(with_service):
    """Row name → measure."""
    named = lambda count: f"{count} worker{'s' if count > 1 else ''}"
    wide = {"LOCKSTOCK_DB_WORKERS": 8}
    rows = {f"jobs by {LIMIT}, {named(count)}": claims(with_service, count, LIMIT) for count in WORKERS}
    for limit in (1, LIMIT):
        rows |= {f"jobs by {limit}, {named(count)}, of 8": claims(with_service, count, limit, wide) for count in WORKERS}
    return rows
