"""DataSynthesizer, to be audited: python audit_datasynthesizer.py JOBS DOMAIN EPSILON DELTA.

For `understudy audit --command "... {jobs} {domain} {epsilon} {delta}"`. Each line of JOBS names a
CSV file of codes and the file to write. Its PrivBayes, the correlated attribute mode, promises
epsilon alone and has no use for DELTA. Of its two files, only the rows are looked at.
"""

import contextlib
import json
import secrets
import tempfile
from pathlib import Path
from typing import Any

from common import Task, audit_parser, audit_tasks
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

ROWS = 200
"""As many are written whatever was read, so that their number tells nothing."""
PARENTS = 2
SEEDS = 2**32


def main() -> None:
    """Fit, draw and write, for each job."""
    told = audit_parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for one in audit_tasks(told):
            # It tells of each attribute it adds.
            with contextlib.redirect_stdout(None):
                _synthesize(one, Path(folder), declared=told.declared)


def _synthesize(one: Task, folder: Path, *, declared: bool) -> None:
    description = folder / "description.json"
    describer = DataDescriber()
    # Its own seed is 0, always: whoever knows that can take the noise off again. Not so here.
    describer.describe_dataset_in_correlated_attribute_mode(
        str(one.train),
        k=PARENTS,
        epsilon=one.epsilon,
        seed=secrets.randbelow(SEEDS),
        **(_public(one.sizes, folder / "domain.json") if declared else {}),
    )
    describer.save_dataset_description_to_file(str(description))
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(
        ROWS, str(description), seed=secrets.randbelow(SEEDS)
    )
    generator.synthetic_dataset[list(one.sizes)].astype(int).to_csv(one.out, index=False)


def _public(sizes: dict[str, int], domain: Path) -> dict[str, Any]:
    """All that it can be told and would read off the table otherwise."""
    domain.write_text(json.dumps({name: list(range(size)) for name, size in sizes.items()}))
    return {
        "attribute_to_datatype": dict.fromkeys(sizes, "Integer"),
        "attribute_to_is_categorical": dict.fromkeys(sizes, True),
        "attribute_to_is_candidate_key": dict.fromkeys(sizes, False),
        "categorical_attribute_domain_file": str(domain),
    }


if __name__ == "__main__":
    main()
