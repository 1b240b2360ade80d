"""Indexes, nodes, chunks and orders, as rows."""
