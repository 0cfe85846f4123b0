"""What the PRISM paper prints, and what comes out here."""
