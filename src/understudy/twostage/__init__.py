"""LK-2SS on rows as they are: nothing here is differentially private.

Whatever is made here rests on a `Ledger.reveal`, and its certificate says so. What keeps a promise
is in `mechanisms` and `model`.
"""
