"""Random edits, kills and restarts against a running stack, then proof that nothing got lost."""
