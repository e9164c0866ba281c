DELETE FROM sealed;
