"""Recipes: what to ask the ledger, and what to make of its answers."""
