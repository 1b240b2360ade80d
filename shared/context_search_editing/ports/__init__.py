"""The past of tables, and what is to be replaced in them."""
