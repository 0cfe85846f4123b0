"""What the LK-2SS paper prints, and what comes out here."""
