"""`python -m initscope COMMAND`: what is done beside the workflow itself."""

import argparse
import sys


def main():
    parser = argparse.ArgumentParser(prog="python -m initscope")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("summary", help="the studies under results/: outcomes, zones, how sure, what was held fixed")
    commands.add_parser("reference", help="config keys, schemes and tables, as Markdown (docs/reference.md)")
    again = commands.add_parser("reproduce", help="compute results again from nothing, aside, and compare every byte")
    again.add_argument("targets", nargs="+", help="studies (scale), their stages (scale_train) or files of results/")
    again.add_argument("--cores", default="all")
    first = commands.add_parser("first-losses", help="predicted beside reported first losses of networks in a file")
    first.add_argument("path", help="a YAML list, as data/first_losses.yaml")
    held = commands.add_parser("store", help="what .store/ holds")
    held.add_argument("--empty", action="store_true", help="remove all of it; results/ stays as it is")
    asked = vars(parser.parse_args())
    globals()[asked.pop("command").replace("-", "_")](**asked)


def summary():
    from initscope.overview import overview

    print(overview())


def reference():
    from initscope.reference import reference

    print(reference(), end="")


def first_losses(path):
    from initscope.first_losses import first_losses

    print(first_losses(path))


def store(empty):
    from initscope import store
    from initscope.run import locked

    lock = locked()  # held until this process ends
    count, size = store.size()
    print(f"{store.ROOT}/: {count} artifacts, {size / 1e6:.1f} MB{', removed' if empty else ''}")
    if empty:
        store.empty()
    del lock


def reproduce(targets, cores):
    from initscope.reproduce import reproduce

    found = list(reproduce(targets, cores))
    different = [f"{place}: {difference}" for place, difference in found if difference]
    print("\n".join([*different, f"{len(found) - len(different)} of {len(found)} files are the same, byte for byte"]))
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
