"""For the person who owns the data: what compares with, or is read off, real rows.

Everything here is internal. No mechanism and no release may import it.
"""
