"""`python -m initscope overview`: what the published studies show. `reference`: docs/reference.md, from the code."""

import argparse


def main():
    parser = argparse.ArgumentParser(prog="python -m initscope")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("overview", help="a short table of the studies under results/")
    commands.add_parser("reference", help="config keys, schemes and tables, as Markdown")
    if parser.parse_args().command == "overview":
        from initscope.overview import overview

        print(overview())
    else:
        from initscope.reference import reference

        print(reference(), end="")


if __name__ == "__main__":
    main()
