-- What listeners of any instance are told of: "tools", "prompts", "resources",
-- "resource:URI". One row a topic, replaced by each announcement under a higher
-- seq, so a flood on one stays one row. AUTOINCREMENT: a seq never comes again,
-- not even after the sweeper.
CREATE TABLE topic (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE,
	at_ms INTEGER NOT NULL,
	last_op BLOB NOT NULL
) STRICT;
