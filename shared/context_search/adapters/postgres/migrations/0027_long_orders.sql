-- Orders for very long strings have a smaller share of their project's window.
-- docs/decisions/0023-fair-shares.md

ALTER TABLE outbox ADD COLUMN is_long boolean NOT NULL DEFAULT false;
