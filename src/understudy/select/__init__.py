"""How mechanisms choose what to measure, through the ledger's exponential mechanism."""
