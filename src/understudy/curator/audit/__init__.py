"""Attacks on the mechanisms themselves, on invented tables: does the promise hold?"""
