"""Text in a CSV file that no spreadsheet runs as a formula, and the exact way back.

A spreadsheet takes a cell for a formula by its first character. An apostrophe before it makes the
cell text. Text that already has apostrophes before such a character gets one more, so that no two
texts are written alike and reading removes exactly what writing added. Plain numbers are left as
they are: they are values, and no formula can be one.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

# The numbers are the full-width forms, which some spreadsheets take for the others. Blanks and
# unseen marks may come first, such as a byte order mark: some programs drop them.
_STARTS = r"^'*([\pZ\pC]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|[\t\r\n])"
_NUMBER = r"^'* *[+\-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+\-]?[0-9]+)?$"


def formula_safe(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Put an apostrophe before each text that a spreadsheet would take for a formula.

    >>> formula_safe(pa.array(["=1+1", "'=1+1", "-5.2", "-5+2", "it's", None])).to_pylist()
    ["'=1+1", "''=1+1", '-5.2', "'-5+2", "it's", None]
    """
    return pc.if_else(_read_as_formula(texts), pc.binary_join_element_wise("'", texts, ""), texts)


def original(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the texts that `formula_safe` was given.

    >>> original(pa.array(["'=1+1", "''=1+1", "-5.2", "'-5+2", "it's", "'quoted'"])).to_pylist()
    ['=1+1', "'=1+1", '-5.2', '-5+2', "it's", "'quoted'"]
    """
    added = pc.and_(_read_as_formula(texts), pc.starts_with(texts, "'"))
    return pc.if_else(added, pc.utf8_slice_codeunits(texts, 1), texts)


def formula_safe_name(name: str) -> str:
    """Return a column name as it stands in a formula-safe file.

    >>> formula_safe_name("@age"), formula_safe_name("age")
    ("'@age", 'age')
    """
    return str(formula_safe(pa.array([name]))[0].as_py())


def _read_as_formula(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Whether the text, without apostrophes at its start, begins like a formula."""
    starts = pc.match_substring_regex(texts, _STARTS)
    return pc.and_not(starts, pc.match_substring_regex(texts, _NUMBER))


# --- version 0.1.0 --------------------------------------------------------------------------------

_OLD = r"^[=+\-@\t\r]"


def old_safe_name(name: str) -> str:
    """Return a column name as version 0.1.0 wrote it with `--formula-safe`."""
    return re.sub(_OLD, r"'\g<0>", name)


def old_original(texts: pa.ChunkedArray, labels: pa.Array) -> pa.ChunkedArray:
    """Return the texts of a file of version 0.1.0, which did not say whether it was formula-safe.

    A text that is one of the labels of its column is taken as it stands.
    """
    plain = pc.replace_substring_regex(texts, r"^'([=+\-@\t\r])", r"\1")
    return pc.if_else(pc.is_in(texts, value_set=labels), texts, plain)
