-- Functions that work as the owner are for whoever may read these rows anyway, or write them, as a
-- call does; triggers ask for no right.

DO $$
DECLARE
    works_as_owner record;
    reader regrole;
BEGIN
    FOR works_as_owner IN
        SELECT CAST(oid AS regprocedure) AS name, prorettype <> CAST('trigger' AS regtype) AS is_called,
               CASE provolatile WHEN 'v' THEN 'INSERT' ELSE 'SELECT' END AS does
        FROM pg_proc
        WHERE pronamespace = CAST('context_search' AS regnamespace) AND prosecdef
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', works_as_owner.name);
        FOR reader IN
            SELECT DISTINCT entry.grantee FROM pg_class, aclexplode(relacl) AS entry
            WHERE pg_class.oid = CAST('context_search.node' AS regclass)
              AND entry.privilege_type = works_as_owner.does AND entry.grantee <> 0
              AND works_as_owner.is_called
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', works_as_owner.name, reader);
        END LOOP;
    END LOOP;
END $$;
