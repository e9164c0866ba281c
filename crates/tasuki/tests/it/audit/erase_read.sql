SELECT salt, body FROM entries WHERE seq = 12;
