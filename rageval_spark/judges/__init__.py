"""Judges: what answers prompts. Bodies, replies and repairs are pure functions; http and preflight do the I/O."""
