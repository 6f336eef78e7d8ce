-- A database as the program of schema 1 left it (sqlite3 .dump, but for the
-- key): a task that waits for an answer. tests/unit/store/test_migrate.c
-- brings it up to date. It never changes.
PRAGMA application_id = 1651074149;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta (
	key TEXT PRIMARY KEY NOT NULL,
	value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('boot_id','221a3a30-a8ae-4ce0-8050-e2c9b813bed7');
INSERT INTO meta VALUES('clock_high',1796003969072);
INSERT INTO meta VALUES('clock_offset',1795991335501);
INSERT INTO meta VALUES('name','b6f13adeb4130752996828457431bead');
CREATE TABLE instance (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	pid INTEGER NOT NULL,
	boot_id TEXT NOT NULL,
	joined_ms INTEGER NOT NULL,
	left_ms INTEGER,          -- set when it left or was found dead
	crashed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO instance VALUES(1,'bide-fixture',2571,'221a3a30-a8ae-4ce0-8050-e2c9b813bed7',1796003964073,1796003966100,0);
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
INSERT INTO task VALUES(1,3,1,3125186840450949550,NULL,1,0,1,1796003965093,0,2,2,NULL,1796090365095,NULL,0,0,NULL,NULL,NULL,0,1796003965093,1796003965095,NULL,-1,3600000,120000,X'cace378663d611818833e8f5dabbf893','RZeeNagGSKcPeTxrOU2iZII','alice','confirm_delete','',NULL,'N-fYWYRSZBnL141VvBj3SFc',NULL,NULL,NULL,NULL,'{"era":"2026-07-28","can":65}');
CREATE TABLE task_data (
	task INTEGER PRIMARY KEY,
	args_digest TEXT NOT NULL,
	args TEXT NOT NULL
) STRICT;
INSERT INTO task_data VALUES(1,'EF8X0eHzk53QnN3r2hRL6618MsKeBw_zXnCl-YN4JME','{"filename":"f"}');
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
INSERT INTO input VALUES(1,'confirm','confirm',1,1,1,1796003965095,NULL,1796090365095,NULL,'{"method":"elicitation/create","params":{"mode":"form","message":"Delete f?","requestedSchema":{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}}}',NULL);
CREATE TABLE event (
	task INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	instance INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	detail TEXT,
	PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO event VALUES(1,1796003965093589,1,1,1,'claimed');
INSERT INTO event VALUES(1,1796003965095424,3,1,1,'confirm');
INSERT INTO event VALUES(1,1796003965095487,4,1,1,NULL);
CREATE TABLE log (
	task INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	level INTEGER NOT NULL,
	logger TEXT,
	data TEXT NOT NULL,
	PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota (
	principal TEXT PRIMARY KEY NOT NULL,
	live INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO quota VALUES('alice',1);
CREATE TABLE consumed (
	id TEXT PRIMARY KEY NOT NULL,
	op BLOB NOT NULL,
	digest TEXT NOT NULL,
	outcome TEXT NOT NULL,
	expire_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE state_key (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	kid TEXT NOT NULL UNIQUE,
	key BLOB NOT NULL,
	created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO state_key VALUES(1,'yICT4HFq',X'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',1796003964072);
CREATE TABLE schema_history (
	number INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	checksum TEXT NOT NULL,
	applied_ms INTEGER NOT NULL,
	took_ms INTEGER NOT NULL,
	program TEXT NOT NULL
) STRICT
;
INSERT INTO schema_history VALUES(1,'0001_init.sql','94fb8df9368d62789368f0115275f4a2',1796003964069,1,'bide');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('state_key',1);
INSERT INTO sqlite_sequence VALUES('instance',1);
INSERT INTO sqlite_sequence VALUES('task',1);
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
CREATE INDEX input_open ON input(task, deadline_ms, state) WHERE state = 1;
CREATE INDEX consumed_expire ON consumed(expire_at);
COMMIT;
