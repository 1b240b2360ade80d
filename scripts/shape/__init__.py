"""The shape of the deployed code in figures: ``make shape``. A mirror, not a gate."""
