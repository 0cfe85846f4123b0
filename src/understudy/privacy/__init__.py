"""The trusted core: the only place where rows are read for a release."""
