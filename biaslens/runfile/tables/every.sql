-- Of every run file.

CREATE TABLE IF NOT EXISTS meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS answers (    -- every answer that was paid for; never changed once written
    key               TEXT PRIMARY KEY, -- content hash of the request
    model             TEXT NOT NULL,
    text              TEXT NOT NULL,    -- the answer without the thought
    finish_reason     TEXT NOT NULL,
    resolved_model    TEXT NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    price             REAL,             -- US dollars; NULL where the catalogue knows none
    latency           REAL,             -- seconds, of the attempt that succeeded; NULL for imported answers
    attempts          INTEGER NOT NULL,
    answered_at       TEXT NOT NULL,    -- UTC, ISO 8601
    thought           TEXT,             -- what the model thought before, as far as the provider shows it; NULL: nothing
    reasoning_tokens  INTEGER           -- those of completion_tokens that it took; NULL where the provider did not say
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS other_answers (  -- paid for as well, in files that were merged: the earlier answer counts
    key               TEXT NOT NULL,    -- this and the rest as in answers
    model             TEXT NOT NULL,
    text              TEXT NOT NULL,
    finish_reason     TEXT NOT NULL,
    resolved_model    TEXT NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    price             REAL,
    latency           REAL,
    attempts          INTEGER NOT NULL,
    answered_at       TEXT NOT NULL,
    thought           TEXT,
    reasoning_tokens  INTEGER,
    PRIMARY KEY (key, answered_at, text)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS failures (   -- requests given up on; asked again at the next start
    key       TEXT NOT NULL,
    model     TEXT NOT NULL,
    error     TEXT NOT NULL,            -- class of the error
    message   TEXT NOT NULL,
    status    INTEGER,
    attempts  INTEGER NOT NULL,
    failed_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS failures_key ON failures (key);

CREATE TABLE IF NOT EXISTS batches (    -- requests sent off together; each step stands here before it is taken
    name     TEXT PRIMARY KEY,          -- content hash, by which the batch is found again at the provider
    model    TEXT NOT NULL,
    url      TEXT NOT NULL,             -- what each request is for: /v1/chat/completions, /v1/responses
    sha256   TEXT NOT NULL,             -- of the file of requests
    requests INTEGER NOT NULL,
    batch_id TEXT,                      -- the provider's id; NULL until it is known
    file_id  TEXT,                      -- the provider's id of the file; NULL until it is uploaded
    state    TEXT NOT NULL,             -- made, uploaded, submitting, submitted, collected
    status   TEXT,                      -- what the provider last said
    made_at  TEXT NOT NULL              -- UTC, ISO 8601
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS batch_requests (
    key  TEXT NOT NULL,                 -- of the answer in answers
    name TEXT NOT NULL REFERENCES batches,
    PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batch_requests_name ON batch_requests (name);
