-- Tools may have been deleted by SQL before anybody noted for which scopes an index was compared.
-- As if each had been for everything: those that do not need everything are compared once more.
UPDATE comparison SET scopes = ARRAY[''];
