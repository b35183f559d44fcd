"""``python -m tests.conformance.coordinator FOLDER``: plays every conversation in FOLDER, and prints a table by kind.

Exit code 0 if all that are played agree, 1 if some do not, 2 if the folder is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.coordinator.conversations import WrongFolder, read_folder
from tests.conformance.coordinator.fields import IGNORED
from tests.conformance.coordinator.verdicts import play_all, table


def main(arguments: list[str]) -> int:
    """The exit code."""
    if len(arguments) != 1:
        print("usage: python -m tests.conformance.coordinator FOLDER", file=sys.stderr)
        return 2
    try:
        conversations = read_folder(Path(arguments[0]))
    except WrongFolder as wrong:
        print(wrong, file=sys.stderr)
        return 2
    verdicts = play_all(conversations)
    print("\n".join(table(verdicts)))
    print("\nNot compared:")
    for field, why in IGNORED.items():
        print(f"  {field}: {why}")
    return 1 if any(one.outcome == "fail" for one in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
