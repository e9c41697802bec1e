-- Of an assessment of a use case.

CREATE TABLE IF NOT EXISTS requests (   -- every response that an assessment wants
    key       TEXT NOT NULL,            -- of the response in answers; prompts worded alike share it
    prompt_id TEXT NOT NULL,
    attribute TEXT NOT NULL,            -- '' for the prompt as it is
    "group"   TEXT NOT NULL,
    series    TEXT NOT NULL,            -- original, counterfactual or no_effect
    trial     INTEGER NOT NULL,
    prompt    TEXT NOT NULL,
    PRIMARY KEY (prompt_id, attribute, "group", series, trial)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_key ON requests (key);

CREATE TABLE IF NOT EXISTS scores (     -- what slow scorers of this process found; never changed once written
    key    TEXT PRIMARY KEY,            -- content hash of the scorer's identity and the text
    scorer TEXT NOT NULL,               -- the scorer's identity
    score  REAL                         -- NULL: a text that cannot be scored
) WITHOUT ROWID;

CREATE VIEW IF NOT EXISTS responses AS
    SELECT prompt_id, prompt, attribute, "group", series, trial, text AS response, finish_reason, key
    FROM requests JOIN answers USING (key);
