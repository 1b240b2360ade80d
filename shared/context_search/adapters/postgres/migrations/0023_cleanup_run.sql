-- When cleanup worked last, for people who ask how their project is.

CREATE TABLE cleanup_run (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    finished_at timestamptz NOT NULL,
    seconds double precision NOT NULL,
    is_complete boolean NOT NULL,
    errors text[] NOT NULL,
    rests_until timestamptz
);
COMMENT ON TABLE cleanup_run IS
    'The last run of cleanup that worked, in one row. Every project may read it, so it has neither ids nor counts.';
COMMENT ON COLUMN cleanup_run.is_complete IS 'False: time ran out first.';
COMMENT ON COLUMN cleanup_run.errors IS 'Codes of steps that failed.';
COMMENT ON COLUMN cleanup_run.rests_until IS 'Until then nothing is known to be due. NULL: it does not rest.';
