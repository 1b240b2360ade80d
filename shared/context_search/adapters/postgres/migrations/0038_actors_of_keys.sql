-- Who made a key with a token: whoever leaves is found by it, and what he made is revoked by it.
ALTER TABLE api_key ADD COLUMN actor text;
COMMENT ON COLUMN api_key.actor IS
    'Who made it with a token, or with a key that was made so: token: and a keyed hash of the subject. NULL: nobody did, or a release before.';
ALTER TABLE sign_in_code ADD COLUMN subject text;
COMMENT ON COLUMN sign_in_code.subject IS
    'A keyed hash of the subject of the token that made it. NULL: a key made it, or the token names nobody.';
