/* SPDX-License-Identifier: MIT */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H
/*
 * Every fixed ceiling of bide, in one list. Those that an operator may set are
 * options: config.def.
 */
#define LIMIT_JSON_DEPTH              64
#define LIMIT_BODY_VALUES             250000 /* JSON values in a request body */
#define LIMIT_HEADER_BYTES            (16 * 1024) /* all headers of a request */
#define LIMIT_HEADERS                 128         /* of a request */
#define LIMIT_ID_BYTES                1024 /* of a request, as JSON text */
#define LIMIT_LISTENERS_PER_PRINCIPAL 100
#define LIMIT_TASK_IDS_PER_LISTEN     1000
#define LIMIT_RESOURCES_PER_LISTEN    1000
#define LIMIT_TOPIC_MS                3600000 /* an announcement is kept */
#define LIMIT_STREAM_QUEUE_BYTES                                               \
	(1024 * 1024) /* unsent bytes of one stream                            \
		       */
#define LIMIT_RESULT_BYTES          (4 * 1024 * 1024) /* a handler's result */
#define LIMIT_STEP_BYTES            (1024 * 1024)     /* one step's result */
#define LIMIT_STEPS_PER_TASK        100000
#define LIMIT_QUESTIONS_OPEN        64   /* of one call at once */
#define LIMIT_QUESTIONS_PER_CALL    1000 /* answered ones too */
#define LIMIT_ASKINGS               100 /* of one question whose answers do not fit */
#define LIMIT_QUESTION_BYTES        (256 * 1024) /* one request or answer */
#define LIMIT_KEY_BYTES             128          /* step and question keys */
#define LIMIT_HANDLER_KEY_BYTES     96  /* those that a handler gives */
#define LIMIT_NAME_BYTES            128 /* tool names */
#define LIMIT_PRINCIPAL_BYTES       256
#define LIMIT_IDEMPOTENCY_KEY_BYTES 256
#define LIMIT_STATUS_BYTES          1024 /* a status message */
#define LIMIT_LOG_DATA_BYTES        (16 * 1024)
#define LIMIT_UNTOLD_LOGS           256 /* of a running task, and their bytes */
#define LIMIT_UNTOLD_LOG_BYTES      (256 * 1024)
#define LIMIT_TOOLS                 4096
#define LIMIT_TOOL_HEADERS          32 /* parameters mirrored into headers */
#define LIMIT_PROMPTS               4096
#define LIMIT_PROMPT_ARGS           256
#define LIMIT_RESOURCES             4096 /* fixed ones; as many templates */
#define LIMIT_URI_BYTES             8192
#define LIMIT_TEMPLATE_VARIABLES    32
#define LIMIT_LIST_CURSOR_BYTES     512    /* of a template's own list */
#define LIMIT_LIST_CALLS            16     /* of such lists for one page */
#define LIMIT_LIST_CACHE_MS         300000 /* what lists may be kept for */
#define LIMIT_PAGE_ITEMS            100    /* of a list page */
#define LIMIT_PAGE_BYTES            (4 * 1024 * 1024)
#define LIMIT_LOOKUPS_AT_ONCE       2   /* lists, completions: a principal's */
#define LIMIT_COMPLETION_VALUES     100 /* utilities/completion */
#define LIMIT_COMPLETION_RATE       50  /* a second, of one principal */
#define LIMIT_COMPLETION_BURST      100 /* before the rate counts */
#define LIMIT_INSTANCES             256 /* on one database */
#define LIMIT_SEAL_KEYS             8   /* of the key ring */
#define LIMIT_BATCH_OPS             256 /* operations in one commit */
#define LIMIT_WAL_FRAMES_CHECKPOINT 1000
#define LIMIT_WAL_FRAMES_ALARM      20000
#define LIMIT_SWEEP_ROWS            200
#define LIMIT_SWEEP_MS              50
#define LIMIT_DRAIN_LAST_MS         1000 /* last replies, after drain-grace */
#define LIMIT_CRASHES               3    /* in a row without progress */
#define LIMIT_SCHEMA_DEPTH          64
#define LIMIT_SCHEMA_NODES          10000
#define LIMIT_VALIDATION_STEPS      1000000
#define LIMIT_VALIDATION_DEPTH      512    /* nested subschemas applied */
#define LIMIT_PATTERN_BYTES         8192   /* one pattern of a schema */
#define LIMIT_PATTERN_STEPS         100000 /* PCRE2 match limit */
#endif
