-- An id of the deployment, so that two databases on one turbopuffer account never meet.

CREATE TABLE deployment (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id text NOT NULL CHECK (id ~ '^[a-z0-9]{10}$')
);
COMMENT ON TABLE deployment IS 'The one row of this database''s deployment. It never changes.';
COMMENT ON COLUMN deployment.id IS
    'Begins the name of each new turbopuffer namespace. Namespaces with another id are not ours.';
-- Ten hexadecimal digits: 40 random bits.
INSERT INTO deployment (id) VALUES (substr(replace(CAST(gen_random_uuid() AS text), '-', ''), 1, 10));
