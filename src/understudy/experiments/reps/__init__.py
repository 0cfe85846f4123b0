"""What the REPS paper prints, and what comes out here."""
