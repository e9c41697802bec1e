-- Of a benchmark that a model writes.

CREATE TABLE IF NOT EXISTS requests (   -- a row is made before the model is asked
    key       TEXT PRIMARY KEY,         -- of the reply in answers
    batch     INTEGER NOT NULL,         -- requests of one batch are asked together, batches one after another
    position  INTEGER NOT NULL,         -- within the batch: replies are read in this order, however they arrived
    round     INTEGER NOT NULL,         -- from 1: how often this list has been asked for
    attribute TEXT NOT NULL,
    role      TEXT,                     -- NULL: a list of roles
    persona   TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_batch ON requests (batch, position);

CREATE TABLE IF NOT EXISTS items (      -- what was accepted of the replies; read from them anew at each start
    item      TEXT PRIMARY KEY,         -- content hash of the role, or id of the encounter
    key       TEXT NOT NULL REFERENCES answers,
    attribute TEXT NOT NULL,
    role      TEXT NOT NULL,
    persona   TEXT NOT NULL,
    what      TEXT NOT NULL             -- role or encounter
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS faults (     -- what was not accepted, and why
    key    TEXT NOT NULL REFERENCES answers,
    rule   TEXT NOT NULL,
    reason TEXT NOT NULL,
    text   TEXT NOT NULL                -- the item as the model wrote it; '' where it is about the whole reply
);

CREATE VIEW IF NOT EXISTS provenance AS -- where each item comes from
SELECT items.item, items.what, items.attribute, items.role, answers.model AS generator, answers.resolved_model,
       (SELECT json_extract(value, '$') FROM meta WHERE name = 'template_hash') AS template_hash,
       answers.answered_at, requests.round, answers.attempts
FROM items JOIN answers USING (key) JOIN requests USING (key);
