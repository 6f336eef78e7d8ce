-- Every statement that runs on the SQLite store, by name. A block begins with
-- a line that names it; C says SQL_<name>. tests/unit/store/test_plans.c reads
-- the query plan of each. States: 1 READY, 2 RUNNING, 3 WAITING, 4 COMPLETED,
-- 5 FAILED, 6 CANCELLED; inputs: 1 OPEN, 2 ANSWERED, 3 EXPIRED, 4 WITHDRAWN.

-- ---- the connection ----

-- name: TXN_BEGIN
BEGIN IMMEDIATE

-- name: TXN_COMMIT
COMMIT

-- name: TXN_ROLLBACK
ROLLBACK

-- name: DATA_VERSION
PRAGMA data_version

-- name: HISTORY_MAKE
CREATE TABLE IF NOT EXISTS schema_history (
	number INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	checksum TEXT NOT NULL,
	applied_ms INTEGER NOT NULL,
	took_ms INTEGER NOT NULL,
	program TEXT NOT NULL
) STRICT

-- name: HISTORY_EXISTS
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_history'

-- name: SCHEMA_COUNT
SELECT count(*) FROM sqlite_schema

-- name: HISTORY_LIST
SELECT number, name, checksum FROM schema_history ORDER BY number

-- name: HISTORY_ADD
INSERT INTO schema_history (number, name, checksum, applied_ms, took_ms, program)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: APPLICATION_ID
PRAGMA application_id

-- name: USER_VERSION
PRAGMA user_version

-- name: JOURNAL_MODE
PRAGMA journal_mode

-- name: QUICK_CHECK
PRAGMA quick_check(5)

-- One read transaction on the source: what is copied is one moment.
-- name: BACKUP_INTO
VACUUM INTO ?1

-- name: FREE_PAGES
PRAGMA freelist_count

-- name: PAGE_COUNT
PRAGMA page_count

-- ---- meta ----

-- name: META_GET
SELECT value FROM meta WHERE key = ?1

-- name: META_PUT
INSERT INTO meta (key, value) VALUES (?1, ?2)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: META_INIT
INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING

-- name: META_RAISE
INSERT INTO meta (key, value) VALUES (?1, ?2)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE excluded.value > value

-- A transaction that surely writes; see sqlite_txn.c on failed commits.
-- name: META_SCRUB
INSERT INTO meta (key, value) VALUES ('scrubs', 1)
ON CONFLICT (key) DO UPDATE SET value = value + 1

-- ---- instances ----

-- name: INSTANCE_ADD
INSERT INTO instance (name, pid, boot_id, joined_ms) VALUES (?1, ?2, ?3, ?4)

-- name: INSTANCE_END
UPDATE instance SET left_ms = ?2, crashed = ?3
WHERE id = ?1 AND left_ms IS NULL

-- name: INSTANCE_GET
SELECT boot_id, left_ms, joined_ms FROM instance WHERE id = ?1

-- name: INSTANCE_NEXT_GONE
SELECT id FROM instance WHERE id > ?1 AND left_ms IS NOT NULL
ORDER BY id LIMIT 1

-- name: INSTANCE_DELETE
DELETE FROM instance WHERE id = ?1 AND left_ms IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM task WHERE state = 2 AND owner = ?1)

-- name: INSTANCE_NEXT_LIVE
SELECT id FROM instance WHERE id > ?1 AND left_ms IS NULL ORDER BY id LIMIT 1

-- name: CLAIMS_COUNT
SELECT count(*) FROM task WHERE state = 2 AND owner = ?1

-- name: OWNER_HAS
SELECT 1 FROM task WHERE state = 2 AND owner = ?1 LIMIT 1

-- name: OWNER_NEXT
SELECT owner FROM task WHERE state = 2 AND owner > ?1 ORDER BY owner LIMIT 1

-- ---- create ----

-- name: QUOTA_GET
SELECT live FROM quota WHERE principal = ?1

-- name: QUOTA_ADD
INSERT INTO quota (principal, live) VALUES (?1, 1)
ON CONFLICT (principal) DO UPDATE SET live = live + 1

-- name: QUOTA_TAKE
UPDATE quota SET live = live - 1 WHERE principal = ?1 RETURNING live

-- name: QUOTA_DROP
DELETE FROM quota WHERE principal = ?1 AND live <= 0

-- name: TASK_INSERT
INSERT INTO task (state, epoch, claim, owner, open, unseen, claims, crashes,
	claimed_ms, version, flow, ready_at, waiters, waits_until, abandon_at, expire_at,
	goes_on, created_ms, updated_ms, ttl_ms, retention_ms, grace_ms, last_op,
	token, principal, tool, tool_version, idem_key, chain_id, caller)
VALUES (?1, ?2, ?3, ?4, 0, 0, ?2, 0, ?12, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12,
	?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
ON CONFLICT DO NOTHING

-- name: TASK_DATA_INSERT
INSERT INTO task_data (task, args_digest, args) VALUES (?1, ?2, ?3)

-- name: CREATED_BY_TOKEN
SELECT t.id, t.token, t.flow, t.state, t.created_ms, t.epoch, t.claim, t.owner,
	t.principal, t.tool, d.args_digest
FROM task t JOIN task_data d ON d.task = t.id WHERE t.token = ?1

-- name: CREATED_BY_CHAIN
SELECT t.id, t.token, t.flow, t.state, t.created_ms, t.epoch, t.claim, t.owner,
	t.principal, t.tool, d.args_digest
FROM task t JOIN task_data d ON d.task = t.id WHERE t.chain_id = ?1

-- name: CREATED_BY_IDEM
SELECT t.id, t.token, t.flow, t.state, t.created_ms, t.epoch, t.claim, t.owner,
	t.principal, t.tool, d.args_digest
FROM task t JOIN task_data d ON d.task = t.id
WHERE t.principal = ?1 AND t.idem_key = ?2

-- ---- the hot row ----

-- name: ROW_BY_ID
SELECT id, state, epoch, claim, owner, open, unseen, crashes, ready_at, wake_at,
	timer_at, waiters, waits_until, abandon_at, goes_on, created_ms,
	retention_ms, grace_ms, ttl_ms, last_op, principal, tool
FROM task WHERE id = ?1

-- name: ROW_BY_TOKEN
SELECT id, state, epoch, claim, owner, open, unseen, crashes, ready_at, wake_at,
	timer_at, waiters, waits_until, abandon_at, goes_on, created_ms,
	retention_ms, grace_ms, ttl_ms, last_op, principal, tool
FROM task WHERE token = ?1

-- ---- claim ----

-- name: READY_FROM_TOOL
SELECT tool FROM task WHERE state = 1 AND tool >= ?1 ORDER BY tool LIMIT 1

-- name: WAITING_FROM_TOOL
SELECT tool FROM task WHERE state = 3 AND tool >= ?1 ORDER BY tool LIMIT 1

-- name: READY_DUE
SELECT id, ready_at FROM task
WHERE state = 1 AND tool = ?1 AND ready_at <= ?2 ORDER BY ready_at LIMIT ?3

-- name: WAITING_DUE
SELECT id, wake_at FROM task
WHERE state = 3 AND tool = ?1 AND wake_at <= ?2 ORDER BY wake_at LIMIT ?3

-- name: READY_NEXT
SELECT ready_at FROM task
WHERE state = 1 AND tool = ?1 AND ready_at > ?2 ORDER BY ready_at LIMIT 1

-- name: WAITING_NEXT
SELECT wake_at FROM task
WHERE state = 3 AND tool = ?1 AND wake_at > ?2 ORDER BY wake_at LIMIT 1

-- name: TASK_CLAIM
UPDATE task SET state = 2, epoch = epoch + 1, claim = ?2, owner = ?3,
	claims = claims + 1, claimed_ms = ?5, unseen = 0, open = open - ?4,
	ready_at = NULL, wake_at = NULL, timer_at = NULL,
	version = version + (?4 > 0),
	updated_ms = CASE WHEN ?4 > 0 THEN ?5 ELSE updated_ms END
WHERE id = ?1 AND state IN (1, 3) RETURNING epoch

-- name: CLAIMS_OF
SELECT id, epoch, claim, claimed_ms FROM task WHERE state = 2 AND owner = ?1

-- ---- what a claim writes ----

-- name: STEP_ADD
INSERT INTO step (task, key, seq, epoch, instance, result)
SELECT ?1, ?4, ?5, ?2, ?6, ?7 FROM task
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2
ON CONFLICT DO NOTHING

-- name: STEP_CARRY
INSERT INTO step (task, key, seq, epoch, instance, result)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: STEP_GET
SELECT result FROM step WHERE task = ?1 AND key = ?2

-- name: TASK_PROGRESSED
UPDATE task SET crashes = 0
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2 AND crashes > 0

-- name: TASK_NOTE
UPDATE task SET progress = coalesce(?4, progress), total = coalesce(?5, total),
	progress_message = coalesce(?6, progress_message),
	status = coalesce(?7, status), version = version + 1, updated_ms = ?8
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2

-- name: LOG_ADD
INSERT INTO log (task, seq, level, logger, data)
VALUES (?1, max(?2, coalesce((SELECT max(seq) FROM log WHERE task = ?1), 0) + 1),
	?3, ?4, ?5)

-- name: TASK_ASKED
UPDATE task SET open = ?4, unseen = ?5, version = version + ?6,
	updated_ms = CASE WHEN ?6 > 0 THEN ?7 ELSE updated_ms END
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2

-- name: TASK_GO_ON
UPDATE task SET open = ?4, unseen = 0, crashes = 0, version = version + ?5,
	updated_ms = CASE WHEN ?5 > 0 THEN ?6 ELSE updated_ms END
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2

-- name: TASK_PARK
UPDATE task SET state = 3, owner = NULL, open = ?4, wake_at = ?5, timer_at = ?6,
	crashes = 0, version = version + ?7,
	updated_ms = CASE WHEN ?7 > 0 THEN ?8 ELSE updated_ms END
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2

-- name: TASK_FINISH
UPDATE task SET state = ?4, owner = NULL, open = 0, unseen = 0,
	abandon_at = NULL, expire_at = NULL,
	purge_at = CASE WHEN retention_ms >= 0 THEN ?5 + retention_ms END,
	ended_ms = ?5, updated_ms = ?5, status = coalesce(?6, status),
	version = version + 1
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2
RETURNING principal

-- name: TASK_RELEASE
UPDATE task SET state = 1, epoch = epoch + 1, owner = NULL, ready_at = ?4,
	crashes = crashes + ?5
WHERE id = ?1 AND epoch = ?2 AND claim = ?3 AND state = 2
RETURNING crashes

-- ---- the end of a task, by others than its claim ----

-- name: TASK_END
UPDATE task SET state = ?3, epoch = epoch + 1, owner = NULL, open = 0,
	unseen = 0, ready_at = NULL, wake_at = NULL, timer_at = NULL,
	abandon_at = NULL, expire_at = NULL,
	purge_at = CASE WHEN retention_ms >= 0 THEN ?4 + retention_ms END,
	ended_ms = ?4, updated_ms = ?4, status = coalesce(?5, status),
	version = version + 1, last_op = ?6
WHERE id = ?1 AND epoch = ?2 AND state < 4
RETURNING principal

-- name: RESULT_PUT
INSERT INTO task_result (task, payload) VALUES (?1, ?2)
ON CONFLICT (task) DO UPDATE SET payload = excluded.payload

-- name: RESULT_DROP
DELETE FROM task_result WHERE task = ?1

-- name: INPUTS_WITHDRAW
UPDATE input INDEXED BY input_open SET state = 4 WHERE task = ?1 AND state = 1

-- After the last one, whatever two processes' clocks say.
-- name: EVENT_ADD
INSERT INTO event (task, seq, kind, instance, epoch, detail)
VALUES (?1, max(?2, coalesce((SELECT max(seq) FROM event WHERE task = ?1), 0) + 1),
	?3, ?4, ?5, ?6)

-- ---- questions ----

-- Digits sort below ':', so the second part holds key~2, key~3 and so on.
-- name: INPUT_LATEST
SELECT n, wire_key, state, request = ?3 AS same FROM input
WHERE task = ?1 AND wire_key = ?2 AND key = ?2
UNION ALL
SELECT n, wire_key, state, request = ?3 AS same FROM input
WHERE task = ?1 AND wire_key > ?2 || '~' AND wire_key < ?2 || '~:' AND key = ?2
ORDER BY n DESC LIMIT 1

-- name: INPUT_EXISTS
SELECT 1 FROM input WHERE task = ?1 AND wire_key = ?2

-- name: INPUT_ADD
INSERT INTO input (task, wire_key, key, n, state, kind, asked_ms, answered_ms,
	deadline_ms, answered_by, request, answer)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)

-- name: INPUT_WITHDRAW
UPDATE input SET state = 4 WHERE task = ?1 AND wire_key = ?2 AND state = 1

-- name: INPUT_BY_WIRE
SELECT key, n, state, kind, deadline_ms, request, answer FROM input
WHERE task = ?1 AND wire_key = ?2

-- name: INPUT_ANSWER
UPDATE input SET state = 2, answer = ?3, answered_ms = ?4, answered_by = ?5
WHERE task = ?1 AND wire_key = ?2 AND state = 1

-- name: INPUTS_OPEN_KEYS
SELECT wire_key, key FROM input INDEXED BY input_open
WHERE task = ?1 AND state = 1

-- name: INPUTS_EXPIRE_DUE
UPDATE input INDEXED BY input_open SET state = 3
WHERE task = ?1 AND state = 1 AND deadline_ms <= ?2

-- name: INPUTS_EXPIRE_ALL
UPDATE input INDEXED BY input_open SET state = 3 WHERE task = ?1 AND state = 1

-- name: INPUTS_NEXT_DEADLINE
SELECT deadline_ms FROM input WHERE task = ?1 AND state = 1 AND deadline_ms > 0
ORDER BY deadline_ms LIMIT 1

-- name: TASK_ANSWERED
UPDATE task SET state = ?2, open = ?3, unseen = ?4, ready_at = ?5, wake_at = ?6,
	timer_at = ?7, version = version + 1, updated_ms = ?8, last_op = ?9
WHERE id = ?1 AND state = ?10

-- name: TASK_CALLER
UPDATE task SET caller = ?2, last_op = ?3 WHERE id = ?1 AND caller <> ?2

-- ---- touch ----

-- name: TASK_TOUCH
UPDATE task SET waiters = ?2, waits_until = ?3, abandon_at = ?4, last_op = ?5
WHERE id = ?1 AND state < 4

-- ---- steer ----

-- name: TASK_RETRY
UPDATE task SET state = 1, epoch = epoch + 1, crashes = 0, ready_at = ?3,
	purge_at = NULL, ended_ms = NULL, updated_ms = ?3, status = NULL,
	expire_at = CASE WHEN ttl_ms >= 0 THEN ?3 + ttl_ms END,
	version = version + 1, last_op = ?4
WHERE id = ?1 AND epoch = ?2 AND state = 5

-- ---- sweep ----

-- name: SWEEP_ABANDONED
SELECT id, epoch, state, open FROM task WHERE abandon_at <= ?1
AND (waiters = 0 OR waits_until <= ?1) ORDER BY abandon_at LIMIT ?2

-- name: SWEEP_EXPIRED
SELECT id, epoch, state, open FROM task WHERE expire_at <= ?1
AND state IN (1, 3) AND unseen = 0 ORDER BY expire_at LIMIT ?2

-- name: SWEEP_ENDED
SELECT id FROM task WHERE purge_at <= ?1 ORDER BY purge_at LIMIT ?2

-- name: SWEEP_CONSUMED
DELETE FROM consumed WHERE id IN
(SELECT id FROM consumed WHERE expire_at <= ?1 ORDER BY expire_at LIMIT ?2)

-- Their times rise with seq.
-- name: SWEEP_TOPICS
DELETE FROM topic WHERE seq IN (SELECT seq FROM
(SELECT seq, at_ms FROM topic ORDER BY seq LIMIT ?2) WHERE at_ms <= ?1)

-- name: PURGE_TASK
DELETE FROM task WHERE id = ?1 AND state >= 4

-- name: PURGE_DATA
DELETE FROM task_data WHERE task = ?1

-- name: PURGE_STEPS
DELETE FROM step WHERE task = ?1

-- name: PURGE_INPUTS
DELETE FROM input WHERE task = ?1

-- name: PURGE_EVENTS
DELETE FROM event WHERE task = ?1

-- name: PURGE_LOGS
DELETE FROM log WHERE task = ?1

-- ---- topics ----

-- name: TOPIC_OP
SELECT last_op FROM topic WHERE name = ?1

-- name: TOPIC_ANNOUNCE
INSERT OR REPLACE INTO topic (name, at_ms, last_op) VALUES (?1, ?2, ?3)

-- name: TOPIC_LAST
SELECT max(seq) FROM topic

-- name: TOPICS_AFTER
SELECT name, seq FROM topic WHERE seq > ?1 ORDER BY seq LIMIT ?2

-- ---- consume, keys ----

-- name: CONSUME
INSERT INTO consumed (id, op, digest, outcome, expire_at)
VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING

-- name: CONSUMED_GET
SELECT digest, outcome, op FROM consumed WHERE id = ?1

-- name: KEY_LIST
SELECT kid, key FROM state_key ORDER BY n DESC LIMIT ?1

-- name: KEY_ADD
INSERT INTO state_key (kid, key, created_ms) VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING

-- ---- reading ----

-- name: GET_BY_TOKEN
SELECT t.id, t.state, t.flow, t.epoch, t.claim, t.owner, t.open, t.unseen,
	t.claims, t.crashes, t.waiters, t.goes_on, t.created_ms, t.updated_ms,
	t.ended_ms, t.ttl_ms, t.retention_ms, t.wake_at, t.abandon_at, t.version,
	t.progress, t.total, t.token, t.principal, t.tool, t.tool_version,
	t.progress_message, t.status, t.caller, t.chain_id, t.idem_key,
	CASE WHEN ?2 THEN (SELECT args FROM task_data WHERE task = t.id) END,
	CASE WHEN ?3 AND t.state > 3
	THEN (SELECT payload FROM task_result WHERE task = t.id) END
FROM task t WHERE t.token = ?1

-- name: GET_BY_ID
SELECT t.id, t.state, t.flow, t.epoch, t.claim, t.owner, t.open, t.unseen,
	t.claims, t.crashes, t.waiters, t.goes_on, t.created_ms, t.updated_ms,
	t.ended_ms, t.ttl_ms, t.retention_ms, t.wake_at, t.abandon_at, t.version,
	t.progress, t.total, t.token, t.principal, t.tool, t.tool_version,
	t.progress_message, t.status, t.caller, t.chain_id, t.idem_key,
	CASE WHEN ?2 THEN (SELECT args FROM task_data WHERE task = t.id) END,
	CASE WHEN ?3 AND t.state > 3
	THEN (SELECT payload FROM task_result WHERE task = t.id) END
FROM task t WHERE t.id = ?1

-- name: FIND_IDEM
SELECT id FROM task WHERE principal = ?1 AND idem_key = ?2

-- name: FIND_CHAIN
SELECT id FROM task WHERE chain_id = ?1

-- So that an unknown id costs what another caller's costs.
-- name: GET_DECOY
SELECT principal FROM task ORDER BY id LIMIT 1

-- name: GET_INPUTS_OPEN
SELECT key, wire_key, request, answer, answered_by, kind, state, asked_ms,
	answered_ms, deadline_ms
FROM input INDEXED BY input_open
WHERE task = ?1 AND state = 1 ORDER BY asked_ms, wire_key

-- name: GET_INPUTS_ALL
SELECT key, wire_key, request, answer, answered_by, kind, state, asked_ms,
	answered_ms, deadline_ms
FROM input WHERE task = ?1 ORDER BY asked_ms, key, n

-- name: GET_STEPS
SELECT key, result, seq, epoch FROM step WHERE task = ?1 ORDER BY seq

-- name: GET_LOGS
SELECT data, logger, seq, level FROM log WHERE task = ?1 AND seq > ?2
ORDER BY seq

-- Kind 0 is a step: its own table is its history.
-- name: GET_EVENTS
SELECT detail, seq, kind, instance, epoch FROM (
	SELECT detail, seq, kind, instance, epoch FROM event WHERE task = ?1
	UNION ALL
	SELECT key, seq, 0, instance, epoch FROM step WHERE task = ?1
) ORDER BY seq

-- name: LIST_ALL
SELECT id FROM task WHERE id < ?1 AND (?2 & (1 << state)) <> 0
AND (?3 IS NULL OR tool = ?3) ORDER BY id DESC LIMIT ?4

-- name: LIST_PRINCIPAL
SELECT id FROM task WHERE principal = ?5 AND id < ?1
AND (?2 & (1 << state)) <> 0 AND (?3 IS NULL OR tool = ?3)
ORDER BY id DESC LIMIT ?4

-- Those alive are few beside those that ended.
-- name: LIST_LIVE
SELECT id FROM (
	SELECT id, state, tool FROM task WHERE state = 1
	UNION ALL SELECT id, state, tool FROM task WHERE state = 2
	UNION ALL SELECT id, state, tool FROM task WHERE state = 3
) WHERE id < ?1 AND (?2 & (1 << state)) <> 0 AND (?3 IS NULL OR tool = ?3)
ORDER BY id DESC LIMIT ?4

-- name: COUNT_READY
SELECT count(*), min(ready_at) FROM task WHERE state = 1

-- name: COUNT_RUNNING
SELECT count(*) FROM task WHERE state = 2

-- name: COUNT_WAITING
SELECT count(*) FROM task WHERE state = 3

-- name: COUNT_ENDED
SELECT state, count(*) FROM task WHERE purge_at IS NOT NULL GROUP BY state

-- name: COUNT_QUESTIONS
SELECT count(*) FROM input WHERE state = 1
