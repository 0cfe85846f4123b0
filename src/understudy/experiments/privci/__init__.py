"""What the PrivCI paper prints, and what comes out here."""
