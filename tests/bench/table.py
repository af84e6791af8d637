"""Figures to Markdown: the ratios with their goals first, then what was measured."""

import statistics

from rows import QUEUE_SMALL, STAGES, median


class Goal:
    """value (of the medians) against a bound; None when a row it needs was not run."""

    def __init__(self, title, value, bound, at_least=True, unit="×"):
        self.title, self.value, self.bound, self.at_least, self.unit = title, value, bound, at_least, unit

    def met(self):
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def row(self):
        sign = "≥" if self.at_least else "≤"
        return f"| {self.title} | {self.value:.2f} {self.unit} | {sign} {self.bound:g} {self.unit} | " \
               f"{'yes' if self.met() else '**no**'} |"


def _ratio(runs, name, over, figure="rate"):
    if name not in runs or over not in runs:
        return None
    bottom = median(runs[over], figure)[0]
    return median(runs[name], figure)[0] / bottom if bottom else None


LOCKS = "locks 64"
LOCK_GOALS = [("Redis alone, redis-benchmark", 0.45), ("Redis alone, both scripts in turn", 0.45),
              ("etcd, a lease each", 20), ("etcd, one lease", 6)]


def lock_goals(runs):
    """Cycles of taking and releasing a lock, to what else could do the same."""
    wanted = [(f"{LOCKS}: cycles to those of {over}", _ratio(runs, LOCKS, over), bound, True) for over, bound in LOCK_GOALS]
    crowded = f"{LOCKS} beside 10,000 held and 5,000 waiting"
    return wanted + [(f"{crowded}: cycles to those without", _ratio(runs, crowded, LOCKS), 0.5, True)]


def goals(runs, soak=None):
    """The goals whose rows were run."""
    whole = "bare transaction and two Redis trips"
    wanted = [
        ("one hot product, 256 connections, to `TRAIN_MAX=1`", _ratio(runs, "hot 256", "hot 256, TRAIN_MAX=1"), 15, True),
        ("… to the seed's way, pub/sub, 64 threads", _ratio(runs, "hot 256", "seed way, pub/sub"), 10, True),
        ("… to the seed's way, 1 ms poller", _ratio(runs, "hot 256", "seed way, 1 ms poller"), 10, True),
        ("… to a bare loop of the same batches", _ratio(runs, "hot 256", "bare loop, trains of hot 256"), 0.6, True),
        ("1000 products, 256 connections, to `TRAIN_MAX=1`", _ratio(runs, "many 256", "many 256, TRAIN_MAX=1"), 8, True),
        ("… to `TRAIN_MAX=1` with 14 slots", _ratio(runs, "many 256", "many 256, TRAIN_MAX=1, 14 slots"), 8, True),
        ("one connection, p50, to a bare transaction and two Redis trips", _ratio(runs, "one connection", whole, "p50"),
         1.3, False),
        ("twice the queue's connections, refused wait: orders to the peak",
         _ratio(runs, "queue twice over, refused wait", "queue full to the brim"), 0.9, True),
        ("twice the queue's connections, refused ask again at once: orders to the peak",
         _ratio(runs, "queue twice over, refused ask again at once", "queue full to the brim"), 0.9, True),
    ]
    wanted += lock_goals(runs)
    wanted.append(("one hot product, 256 connections, to the same without jobs of the service",
                   _ratio(runs, "hot 256", "hot 256, LOCKSTOCK_JOBS=off"), 0.95, True))
    wanted.append(("one hot product, 256 connections, to the same without a sink",
                   _ratio(runs, "hot 256", "hot 256, LOCKSTOCK_SINKS empty"), 0.95, True))
    found = [Goal(title, value, bound, at_least) for title, value, bound, at_least in wanted if value is not None]
    for name in ("queue twice over, refused wait", "queue twice over, refused ask again at once"):
        if name in runs:
            found.append(Goal(f"{name}: p99 of a refusal", median(runs[name], "refused_p99")[0] / 1000, 50, False, "ms"))
    line = "hand-over, 1,000 waiting"
    for figure, bound in (("p50", 1), ("p99", 5)):
        if line in runs:
            found.append(Goal(f"{line}: {figure}", median(runs[line], figure)[0] / 1000, bound, False, "ms"))
    if soak:
        rss = soak["rss_kib"]
        found.append(Goal(f"resident memory after {soak['seconds']} s to after a tenth of it", rss[-1] / rss[0], 1.05,
                          False))
    return found


def _span(runs, figure, scale=1.0, form="{:,.0f}"):
    middle, least, most = (value / scale for value in median(runs, figure))
    return form.format(middle) + (f" [{form.format(least)}–{form.format(most)}]" if len(runs) > 1 else "")


def _extras(runs):
    """What only some rows have."""
    said = []
    for figure, form in (("train", "trains of {:.0f}"), ("tries", "{:.1f} lock tries per order"),
                         ("conflicts", "{:.0f} conflicts"), ("busy", "{:.0f} without the lock in 3 s"),
                         ("refused_rate", "{:,.0f} refusals/s"), ("transaction_p50", "transaction p50 {:.0f} µs"),
                         ("acquires", "{:,.0f} acquires/s"), ("releases", "{:,.0f} releases/s"),
                         ("claims", "{:,.0f} claims/s"), ("end_p50", "a completion p50 {:.0f} µs"),
                         ("least_share", "the slowest worker did {:.2f} of its share"),
                         ("redis_p50", "two Redis trips p50 {:.0f} µs"), ("driver_us", "driver {:.0f} µs a request")):
        if figure in runs[0]:
            said.append(form.format(median(runs, figure)[0]))
    if any(run.get("refused") for run in runs):
        said.append(f"{median(runs, 'refused')[0]:.0f} refused")
    if "lock" in runs[0]:
        said.append(" + ".join(f"{stage} {median(runs, stage)[0]:.1f}" for stage in STAGES) + " ms")
    if "refused_p99" in runs[0]:
        said.append(f"refusal p99 {median(runs, 'refused_p99')[0] / 1000:.1f} ms")
    return ", ".join(said)


def _cores(runs, name):
    values = [run["cores"][name] for run in runs if name in run["cores"]]
    return f"{statistics.median(values):.2f}" if values else "–"


def _row(name, runs):
    cores = " / ".join(_cores(runs, who) for who in ("service", "mariadb", "redis", "driver", "foreign"))
    return f"| {name} | {_span(runs, 'rate')} | {_span(runs, 'p50', 1000, '{:.2f}')} | " \
           f"{_span(runs, 'p99', 1000, '{:.2f}')} | {cores} | {_extras(runs)} |"


def markdown(runs, times, soak=None):
    count = max(len(r) for r in runs.values()) if runs else 0
    lines = ["| ratio of medians | measured | goal | met |", "|---|---|---|---|"]
    lines += [goal.row() for goal in goals(runs, soak)]
    lines += ["", f"{count} run(s) of {times.seconds} s each, rows in turn; median [least–most]. A cycle takes and releases a "
              "lock. Queue rows: "
              f"`LOCKSTOCK_QUEUE_MAX={QUEUE_SMALL}`. Cores: service / MariaDB / Redis / driver / others.", "",
              "| row | orders, cycles or jobs/s | p50 ms | p99 ms | cores | more |", "|---|---|---|---|---|---|"]
    lines += [_row(name, r) for name, r in runs.items()]
    if soak:
        lines += ["", f"Soak of {soak['seconds']} s, {soak['orders']:,} orders; resident KiB at each tenth: "
                  + ", ".join(f"{v:,}" for v in soak["rss_kib"])]
    return "\n".join(lines) + "\n"
