"""``python -m tests.mutation --seed 1 --count 20``: plants small bugs in a copy of ``sim/``; which does no test notice?

Apart: it changes no table of some varied runs. Caught: a test fails that calls the function it is in, or does not end.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.mutation.mutants import mutants_of
from tests.mutation.trial import Trial

ROOT = Path(__file__).parents[2]


def main() -> int:
    """0 if every bug that changes a table is caught, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=25, help="no bug is planted after so long")
    parser.add_argument("--under", nargs="+", default=["sim"], help="files or folders below sim/ to plant them in")
    options = parser.parse_args()
    places = [ROOT / place for place in options.under]
    paths = [one for one in sorted((ROOT / "sim").rglob("*.py")) if any(map(one.is_relative_to, places))]
    everything = [mutant for path in paths for mutant in mutants_of(ROOT, path.relative_to(ROOT))]
    chosen = random.Random(options.seed).sample(everything, min(options.count, len(everything)))
    print(f"seed {options.seed}: {len(chosen)} of the {len(everything)} bugs that can be planted", flush=True)
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        trial, end = Trial(ROOT, Path(folder)), time.monotonic() + options.minutes * 60
        for number, mutant in enumerate(chosen, 1):
            if time.monotonic() < end:
                verdict, detail = trial.judge(mutant)
                verdicts[verdict] += 1
                print(f"{number:>4} {verdict:<9}{mutant.path}:{mutant.line}  {detail}", flush=True)
    changing = verdicts["caught"] + verdicts["survived"]
    print(f"{verdicts.total()} planted, {changing} change a table; of these {verdicts['caught']} are caught")
    return int(verdicts["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
