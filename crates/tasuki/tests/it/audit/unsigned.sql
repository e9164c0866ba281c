-- An attacker without the key cannot sign rows, and can take the MACs away.
UPDATE streams SET mac = NULL;
UPDATE handoffs SET mac = NULL;
UPDATE messages SET mac = NULL;
UPDATE conversations SET mac = NULL;
UPDATE outcomes SET mac = NULL;
