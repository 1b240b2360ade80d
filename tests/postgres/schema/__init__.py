"""What ``make migrate`` does to databases of every kind."""
