"""A walk through the whole product on one machine: ``python -m local.demo``."""
