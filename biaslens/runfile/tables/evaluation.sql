-- Of a role-play evaluation.

CREATE TABLE IF NOT EXISTS roles (
    role_id   INTEGER PRIMARY KEY,
    attribute TEXT NOT NULL,
    name      TEXT NOT NULL,
    persona   TEXT NOT NULL,
    UNIQUE (attribute, name)
);

CREATE TABLE IF NOT EXISTS questions (
    question_id TEXT PRIMARY KEY,       -- content hash
    role_id     INTEGER NOT NULL REFERENCES roles,
    kind        TEXT NOT NULL,          -- yes_no, choice, why
    text        TEXT NOT NULL,          -- without the role
    options     TEXT NOT NULL,          -- JSON list, the abstaining option last; [] for yes_no and why
    target      TEXT,                   -- the attribute the question asks about
    groups      TEXT NOT NULL,          -- JSON list of the groups compared
    encounter   TEXT NOT NULL,          -- shared by the questions on one encounter; this and the rest "" where unknown
    stereotype  TEXT NOT NULL,          -- the prejudice that the question invites
    theme       TEXT NOT NULL,          -- what that is about
    disfavoured TEXT NOT NULL,          -- which of the groups loses by it
    picks       TEXT NOT NULL           -- which of the options it picks
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS mirrors (    -- questions that mirror another one
    question_id TEXT PRIMARY KEY REFERENCES questions,
    mirror_of   TEXT NOT NULL,          -- id of that question, which need not be in this run
    mirror      TEXT NOT NULL           -- swapped, reversed
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS plan (       -- every response the run is to have
    key          TEXT PRIMARY KEY,      -- content hash of question, condition, trial, model, parameters and prompts
    question_id  TEXT NOT NULL REFERENCES questions,
    condition    TEXT NOT NULL,         -- role, no_role, neutral_role
    trial        INTEGER NOT NULL,      -- from 1
    option_order TEXT                   -- JSON: positions in questions.options in the order shown; NULL: as they stand
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS retries (    -- planned responses whose first answer was cut off: asked again with a larger limit
    key        TEXT PRIMARY KEY,        -- of the response in plan, in place of `first`
    first      TEXT NOT NULL UNIQUE,    -- key of the answer that was cut off, which stays in answers
    max_tokens INTEGER NOT NULL         -- the larger limit
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS panels (     -- who judged the why answers; several panels may have judged the same ones
    panel TEXT PRIMARY KEY,             -- its name; the one that counts in reports is "panel" in meta
    spec  TEXT NOT NULL                 -- JSON: judges, votes of each, prompt and its hash, parameters, seed, screen
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ballots (    -- a judge asked in one way: panels that ask alike share its votes
    ballot TEXT PRIMARY KEY,            -- content hash of judge, prompt, parameters and seed
    judge  TEXT NOT NULL,
    prompt TEXT NOT NULL                -- codebook, fairness
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS votes (      -- a row is made before its judge is asked
    key          TEXT PRIMARY KEY,      -- of the judge's reply in answers
    response_key TEXT NOT NULL REFERENCES plan (key),
    ballot       TEXT NOT NULL REFERENCES ballots,
    vote_number  INTEGER NOT NULL,      -- from 1
    vote         TEXT,                  -- an outcome or "unusable"; NULL until the judge has replied
    reason       TEXT,                  -- what the judge gave as its reason
    UNIQUE (response_key, ballot, vote_number)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS screened (   -- what the local judge thinks of why answers
    response_key TEXT PRIMARY KEY REFERENCES plan (key),
    screen       TEXT NOT NULL,         -- its name and version
    probability  REAL NOT NULL          -- that the answer is biased
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS verdicts (
    response_key TEXT NOT NULL REFERENCES plan (key),
    panel        TEXT NOT NULL,         -- "rules" where no judge was needed, else a name in panels
    outcome      TEXT NOT NULL,         -- biased, unbiased, refused, invalid
    reason       TEXT NOT NULL,         -- the rule that decided
    choice       INTEGER,               -- position in questions.options of the option taken
    oracle       TEXT NOT NULL,         -- who decided: "rules 4", "local/screen 2", or the judges
    PRIMARY KEY (response_key, panel)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS thought_votes (  -- on thoughts, which count in no rate of answers; made before asked
    key          TEXT PRIMARY KEY,      -- of the judge's reply in answers
    response_key TEXT NOT NULL REFERENCES plan (key),
    panel        TEXT NOT NULL,
    judge        TEXT NOT NULL,
    vote_number  INTEGER NOT NULL,      -- from 1
    vote         TEXT,                  -- an outcome or "unusable"; NULL until the judge has replied
    reason       TEXT                   -- what the judge gave as its reason
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS thought_votes_response ON thought_votes (response_key);

CREATE TABLE IF NOT EXISTS thought_verdicts (
    response_key TEXT NOT NULL REFERENCES plan (key),
    panel        TEXT NOT NULL,
    outcome      TEXT NOT NULL,         -- biased, unbiased, refused, invalid
    PRIMARY KEY (response_key, panel)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sampled (    -- responses drawn for people to label
    response_key TEXT PRIMARY KEY REFERENCES plan (key),
    sample       TEXT NOT NULL,         -- id of the sample
    stratum      TEXT NOT NULL,
    inclusion    REAL NOT NULL,         -- probability with which it was drawn
    outcome      TEXT,                  -- what people say it is; NULL where they have not, or differ
    sure         INTEGER NOT NULL,      -- 1 where all of them are
    how          TEXT NOT NULL          -- agreed, adjudicated, single, open, unlabelled
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS labels (     -- what people say about them
    response_key TEXT NOT NULL REFERENCES plan (key),
    annotator    TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    sure         INTEGER NOT NULL,      -- 0 or 1
    comment      TEXT NOT NULL,
    adjudicates  INTEGER NOT NULL,      -- 1 where the annotator decides where the others differ
    PRIMARY KEY (response_key, annotator)
) WITHOUT ROWID;

CREATE VIEW IF NOT EXISTS responses AS  -- one row a planned response, with all that is known of it
SELECT plan.key, roles.attribute, roles.name AS role, roles.persona, questions.kind, questions.target,
       plan.question_id, questions.text AS question, questions.options, questions.groups,
       questions.encounter, questions.stereotype, questions.theme, questions.disfavoured, questions.picks,
       plan.condition, plan.trial, plan.option_order,
       answers.text AS answer, answers.finish_reason, answers.resolved_model,
       CASE WHEN verdicts.outcome IS NOT NULL THEN verdicts.outcome
            WHEN answers.key IS NULL AND EXISTS (SELECT 1 FROM failures WHERE failures.key = plan.key) THEN 'error'
       END AS outcome,                  -- NULL: not asked yet, or not judged yet
       verdicts.reason, verdicts.choice, verdicts.oracle,
       answers.prompt_tokens, answers.completion_tokens, answers.price, answers.latency, answers.attempts,
       answers.answered_at
FROM plan
JOIN questions USING (question_id)
JOIN roles USING (role_id)
LEFT JOIN answers USING (key)
LEFT JOIN verdicts ON verdicts.response_key = plan.key
    AND verdicts.panel IN ('rules', (SELECT json_extract(value, '$') FROM meta WHERE name = 'panel'));
