-- When a comparison of a generation with its document was last ordered. An order may get lost, or
-- end as a dead letter: cleanup gives it again.
ALTER TABLE index_generation ADD COLUMN ordered_at timestamptz;
