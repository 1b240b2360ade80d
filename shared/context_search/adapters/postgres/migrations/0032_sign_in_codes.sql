-- Codes that sign a browser in to the console once, without a key in an address.

CREATE TABLE sign_in_code (
    code_hash bytea PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    key_id bigint REFERENCES api_key (id) ON DELETE CASCADE,
    permissions text[] NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_code_project ON sign_in_code (project_id, expires_at);
CREATE INDEX sign_in_code_key ON sign_in_code (key_id);
COMMENT ON TABLE sign_in_code IS
    'What becomes a key of the console, once; used rows are gone, ended ones with the next code.';
COMMENT ON COLUMN sign_in_code.code_hash IS 'sha256 of the code, which itself is stored nowhere.';
COMMENT ON COLUMN sign_in_code.key_id IS
    'The key that made it, without which it opens nothing. NULL: made with a token.';
ALTER TABLE sign_in_code ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON sign_in_code USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));
