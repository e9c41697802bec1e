"""The tables of a run file; the comments on the columns are the reference."""

from __future__ import annotations

from biaslens.schema import Attribute, Condition, Kind

FORMAT = 3
"""Version of the tables; a run file of another version is refused."""

TABLES = """
CREATE TABLE IF NOT EXISTS meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS answers (    -- every answer that was paid for; never changed once written
    key               TEXT PRIMARY KEY, -- content hash of the request
    model             TEXT NOT NULL,
    text              TEXT NOT NULL,
    finish_reason     TEXT NOT NULL,
    resolved_model    TEXT NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    price             REAL,             -- US dollars; NULL where the catalogue knows none
    latency           REAL,             -- seconds, of the attempt that succeeded; NULL for imported answers
    attempts          INTEGER NOT NULL,
    answered_at       TEXT NOT NULL     -- UTC, ISO 8601
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
"""
"""Of every run file."""

EVALUATION_TABLES = """
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
    groups      TEXT NOT NULL           -- JSON list of the groups compared
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
    oracle       TEXT NOT NULL,         -- who decided: "rules 2", "local/screen 1", or the judges
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
"""
"""Of a role-play evaluation."""

IMPORT_TABLES = """
CREATE TABLE IF NOT EXISTS imported (   -- answers files of the release that are in this run file
    file   TEXT PRIMARY KEY,            -- path within the release
    sha256 TEXT NOT NULL,
    rows   INTEGER NOT NULL,
    faults TEXT NOT NULL                -- JSON list: what could not be read
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS published (  -- what the study took an answer for
    response_key TEXT PRIMARY KEY REFERENCES plan (key),
    final        TEXT NOT NULL          -- of a why answer, Yes: biased; None: the study took it for no answer at all
) WITHOUT ROWID;
"""
"""Of an evaluation that the published study's release was imported into, beside its own."""

GENERATION_TABLES = """
CREATE TABLE IF NOT EXISTS requests (   -- a row is made before the model is asked
    key       TEXT PRIMARY KEY,         -- of the reply in answers
    batch     INTEGER NOT NULL,         -- requests of one batch are asked together, batches one after another
    position  INTEGER NOT NULL,         -- within the batch: replies are read in this order, however they arrived
    round     INTEGER NOT NULL,         -- from 1: how often this list has been asked for
    attribute TEXT NOT NULL,
    role      TEXT,                     -- NULL: a list of roles
    persona   TEXT,
    kind      TEXT                      -- NULL: a list of roles
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_batch ON requests (batch, position);

CREATE TABLE IF NOT EXISTS items (      -- what was accepted of the replies; read from them anew at each start
    item      TEXT PRIMARY KEY,         -- content hash of the role, or of the question
    key       TEXT NOT NULL REFERENCES answers,
    attribute TEXT NOT NULL,
    role      TEXT NOT NULL,
    persona   TEXT NOT NULL,
    kind      TEXT,                     -- NULL: a role
    text      TEXT,
    options   TEXT                      -- JSON list
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS faults (     -- what was not accepted, and why
    key    TEXT NOT NULL REFERENCES answers,
    rule   TEXT NOT NULL,
    reason TEXT NOT NULL,
    text   TEXT NOT NULL                -- '' where it is about the whole reply
);

CREATE VIEW IF NOT EXISTS provenance AS -- where each item comes from
SELECT items.item, items.attribute, items.role, items.kind, answers.model AS generator, answers.resolved_model,
       (SELECT json_extract(value, '$') FROM meta WHERE name = 'template_hash') AS template_hash,
       answers.answered_at, requests.round, answers.attempts
FROM items JOIN answers USING (key) JOIN requests USING (key);
"""
"""Of a benchmark that a model writes."""

ASSESSMENT_TABLES = """
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
"""
"""Of an assessment of a use case."""

_OUTCOMES = "'biased', 'unbiased', 'refused', 'invalid', 'error'"

ALSO = {
    "meta": "json_valid(value)",
    "roles": "attribute IN ({})".format(", ".join(f"'{attribute}'" for attribute in Attribute)),
    "questions": "kind IN ({}) AND json_valid(options) AND json_type(options) = 'array' AND json_valid(groups)".format(
        ", ".join(f"'{kind}'" for kind in Kind)
    ),
    "plan": "condition IN ({}) AND trial BETWEEN 1 AND 100000".format(
        ", ".join(f"'{condition}'" for condition in Condition)
    )
    + " AND (option_order IS NULL OR (json_valid(option_order) AND json_type(option_order) = 'array'))",
    "panels": "json_valid(spec) AND json_type(spec) = 'object'",
    "votes": f"vote IS NULL OR vote = 'unusable' OR vote IN ({_OUTCOMES})",
    "verdicts": f"outcome IN ({_OUTCOMES})",
    "sampled": f"(outcome IS NULL OR outcome IN ({_OUTCOMES})) AND inclusion > 0 AND inclusion <= 1",
    "labels": f"outcome IN ({_OUTCOMES})",
}
"""By table: what is true of every row of a run file that is whole, as SQL."""

RULES_PANEL = "rules"
"""Panel of the verdicts that need no judge."""

PUBLISHED_PANEL = "published votes"
"""Panel of the published study, in its imported runs."""

PANEL_IN_FORCE = "panel"
"""Name in meta of the panel whose verdicts count in reports."""
