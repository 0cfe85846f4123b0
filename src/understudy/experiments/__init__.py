"""Things to show and measure: the embedded table, and later one module per paper."""
