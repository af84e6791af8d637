#!/usr/bin/python3
"""The load table of docs/performance.md: rows in turn, medians, ratios against their goals. See --help.

Exit status: 0 when every row ran and what was written is what was answered; ratios are judged only with --strict."""

import argparse
import json
import os
import signal
import sys

from rows import Plan, Times, soak
from stand import ROOT, Stand
from table import goals, markdown


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each row (3)")
    parser.add_argument("--seconds", type=int, default=7, help="of a run (7)")
    parser.add_argument("--warmup", type=int, default=2, help="seconds before it (2)")
    parser.add_argument("--soak", type=int, default=0, metavar="SECONDS", help="memory over so long a load (off)")
    parser.add_argument("--foreign-max", type=float, default=99, metavar="CORES",
                        help="a run beside which others used more is made again (off)")
    parser.add_argument("--calm", type=int, default=0, metavar="SECONDS",
                        help="wait so long at most, before each run, for others to use less than that (0)")
    parser.add_argument("--again", type=int, default=3, help="how often a run is made again (3)")
    parser.add_argument("--about", choices=("orders", "locks", "all"), default="all", help="rows of these alone (all)")
    parser.add_argument("--only", default="", help="rows whose name holds one of these words, separated by ;")
    parser.add_argument("--skip", default="", help="and none of these")
    parser.add_argument("--quick", action="store_true", help="one run of 3 s: does it all work?")
    parser.add_argument("--strict", action="store_true", help="a missed goal is a failure")
    parser.add_argument("--out", help="file for the Markdown; in a document, between <!-- bench:begin --> and "
                        "<!-- bench:end -->; with --about locks, between <!-- locks:begin --> and <!-- locks:end -->")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--folder", default=os.path.join(ROOT, ".dev", "bench"), help="data of the servers (.dev/bench)")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.runs, chosen.seconds, chosen.warmup = 1, 3, 1
    return chosen


def words_of(text):
    return [word.strip() for word in text.split(";") if word.strip()]


def chosen_rows(plan, chosen):
    wanted, unwanted = words_of(chosen.only), words_of(chosen.skip)
    about = {"all": lambda name: True, "locks": lambda name: name in plan.of_locks,
             "orders": lambda name: name not in plan.of_locks}[chosen.about]
    return [name for name in plan.names() if about(name) and (not wanted or any(word in name for word in wanted))
            and not any(word in name for word in unwanted)]


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def measure(chosen):
    plan = Plan()
    times = Times(chosen.seconds, chosen.warmup, chosen.foreign_max, chosen.calm, chosen.again)
    names = chosen_rows(plan, chosen)
    stand, soaked = Stand(chosen.folder), None
    try:
        for number in range(chosen.runs):
            say(f"run {number + 1} of {chosen.runs}: {len(names)} rows")
            plan.run(stand, names, times, say)
        soaked = soak(stand, chosen.soak) if chosen.soak else None
    except KeyboardInterrupt:
        say("interrupted: the table of what was measured follows")
    finally:
        stand.end()
    return plan, times, soaked


def write(path, marks, text):
    """The whole file, or in a document only what stands between the marks."""
    begin, end = f"<!-- {marks}:begin -->", f"<!-- {marks}:end -->"
    kept = ["", ""]
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            document = old.read()
        if begin in document and end in document:
            kept = [document.split(begin)[0] + begin + "\n", end + document.split(end)[1]]
    with open(path, "w", encoding="utf-8") as out:
        out.write(kept[0] + text + kept[1])


def main():
    chosen = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    plan, times, soaked = measure(chosen)
    runs = plan.runs
    text = markdown(runs, times, soaked)
    print(text)
    if chosen.out:
        write(chosen.out, "locks" if chosen.about == "locks" else "bench", text)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as out:
            json.dump({"runs": runs, "soak": soaked}, out, indent=1)
    missed = [goal.title for goal in goals(runs, soaked) if not goal.met()]
    if missed:
        say("not met: " + "; ".join(missed))
    for failure in plan.failures:
        say(f"FAILED {failure}")
    return 1 if plan.failures or (missed and chosen.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
