-- The first schema. Source: docs/design.md, "Tasks in the store".
-- Times are milliseconds of the database's clock, but for seq, which is
-- microseconds and rises strictly: it orders a history and tells its time.

-- Facts about the database: its name, its clock.
CREATE TABLE meta (
	key TEXT PRIMARY KEY NOT NULL,
	value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a process that joined. AUTOINCREMENT: a number never comes again.
CREATE TABLE instance (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	pid INTEGER NOT NULL,
	boot_id TEXT NOT NULL,
	joined_ms INTEGER NOT NULL,
	left_ms INTEGER,          -- set when it left or was found dead
	crashed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The hot row. It is the task's lock and carries every fact a decision needs.
-- AUTOINCREMENT: listeners name a task by its id, so none comes again.
CREATE TABLE task (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6),
	epoch INTEGER NOT NULL,
	claim INTEGER NOT NULL,
	owner INTEGER,            -- instance; only while RUNNING
	open INTEGER NOT NULL CHECK (open >= 0),
	unseen INTEGER NOT NULL CHECK (unseen >= 0),
	claims INTEGER NOT NULL,
	claimed_ms INTEGER NOT NULL, -- the last time
	crashes INTEGER NOT NULL,
	version INTEGER NOT NULL, -- rises with what a caller can see
	flow INTEGER NOT NULL,
	ready_at INTEGER,         -- READY: claimable from then on, oldest first
	wake_at INTEGER,          -- WAITING: the timer or the first deadline
	timer_at INTEGER,         -- WAITING: the handler's own timer
	waiters INTEGER NOT NULL, -- callers waiting, none past waits_until
	waits_until INTEGER NOT NULL,
	abandon_at INTEGER,
	expire_at INTEGER,
	purge_at INTEGER,
	goes_on INTEGER NOT NULL,
	created_ms INTEGER NOT NULL,
	updated_ms INTEGER NOT NULL,
	ended_ms INTEGER,
	ttl_ms INTEGER NOT NULL,  -- while it lives; -1: none
	retention_ms INTEGER NOT NULL,
	grace_ms INTEGER NOT NULL,
	last_op BLOB,             -- of the last operation that has no fence
	token TEXT NOT NULL UNIQUE,
	principal TEXT NOT NULL,
	tool TEXT NOT NULL,
	tool_version TEXT NOT NULL,
	idem_key TEXT,
	chain_id TEXT,
	progress REAL,
	total REAL,
	progress_message TEXT,
	status TEXT,
	caller TEXT NOT NULL
) STRICT;

-- The state stands in each once more, or SQLite would fetch the row to see it.
CREATE INDEX task_ready ON task(tool, ready_at, state) WHERE state = 1;
CREATE INDEX task_running ON task(owner, state) WHERE state = 2;
CREATE INDEX task_waiting ON task(tool, wake_at, state) WHERE state = 3;
CREATE INDEX task_principal ON task(principal);
CREATE UNIQUE INDEX task_idem ON task(principal, idem_key)
	WHERE idem_key IS NOT NULL;
CREATE UNIQUE INDEX task_chain ON task(chain_id) WHERE chain_id IS NOT NULL;
CREATE INDEX task_abandon ON task(abandon_at) WHERE abandon_at IS NOT NULL;
CREATE INDEX task_expire ON task(expire_at) WHERE expire_at IS NOT NULL;
CREATE INDEX task_purge ON task(purge_at, state) WHERE purge_at IS NOT NULL;

-- Big values, apart from the hot row: written once, read on demand.
CREATE TABLE task_data (
	task INTEGER PRIMARY KEY,
	args_digest TEXT NOT NULL,
	args TEXT NOT NULL
) STRICT;
CREATE TABLE task_result (
	task INTEGER PRIMARY KEY,
	payload TEXT NOT NULL
) STRICT;

CREATE TABLE step (
	task INTEGER NOT NULL,
	key TEXT NOT NULL,
	seq INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	instance INTEGER NOT NULL,
	result TEXT NOT NULL,
	PRIMARY KEY (task, key)
) STRICT, WITHOUT ROWID;

-- Questions. A wire key is used once in a task's life: key, key~2, key~3.
CREATE TABLE input (
	task INTEGER NOT NULL,
	wire_key TEXT NOT NULL,
	key TEXT NOT NULL,
	n INTEGER NOT NULL,       -- the n-th asking under this key
	state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
	kind INTEGER NOT NULL,
	asked_ms INTEGER NOT NULL,
	answered_ms INTEGER,
	deadline_ms INTEGER,
	answered_by TEXT,
	request TEXT NOT NULL,
	answer TEXT,
	PRIMARY KEY (task, wire_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX input_open ON input(task, deadline_ms, state) WHERE state = 1;

-- The history an operator reads; steps and their times stand in step.
CREATE TABLE event (
	task INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	instance INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	detail TEXT,
	PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

-- Log lines of the handler, for whoever waits.
CREATE TABLE log (
	task INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	level INTEGER NOT NULL,
	logger TEXT,
	data TEXT NOT NULL,
	PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

-- How many tasks of a principal have not ended, so that none is counted.
CREATE TABLE quota (
	principal TEXT PRIMARY KEY NOT NULL,
	live INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Single use of a requestState: its id and the outcome it had.
CREATE TABLE consumed (
	id TEXT PRIMARY KEY NOT NULL,
	op BLOB NOT NULL,
	digest TEXT NOT NULL,
	outcome TEXT NOT NULL,
	expire_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX consumed_expire ON consumed(expire_at);

-- Keys that seal requestState, newest first by n.
CREATE TABLE state_key (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	kid TEXT NOT NULL UNIQUE,
	key BLOB NOT NULL,
	created_ms INTEGER NOT NULL
) STRICT;
