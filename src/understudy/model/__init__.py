"""From noisy measurements to a distribution to rows. Nothing here asks the private table."""
