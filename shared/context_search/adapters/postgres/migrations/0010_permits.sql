-- Leased permits: how many searches of a project, and queries of a namespace, go on at once.
-- Nothing is lost with them, so they are not logged: after a crash all are free.
CREATE UNLOGGED TABLE permit (
    pool text NOT NULL,
    number int NOT NULL,
    holder text,
    lease_until timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pool, number)
) WITH (fillfactor = 50);
CREATE INDEX permit_unused ON permit (lease_until);
