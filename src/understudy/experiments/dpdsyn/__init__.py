"""What the DPDSyn paper prints, and what comes out here."""
