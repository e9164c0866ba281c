UPDATE entries SET salt = NULL, body = NULL, commitment = ?1 WHERE seq = 12;
