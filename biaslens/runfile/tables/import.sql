-- Of an evaluation that the published study's release was imported into, beside its own.

CREATE TABLE IF NOT EXISTS imported (   -- answers files of the release that are in this run file
    file   TEXT PRIMARY KEY,            -- path within the release
    sha256 TEXT NOT NULL,
    rows   INTEGER NOT NULL,
    whole  INTEGER NOT NULL,            -- 0 where rows of it could not be read, 1 where all were
    faults TEXT NOT NULL                -- JSON list: what could not be read, or was mended
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS published (  -- what the study took an answer for
    response_key TEXT PRIMARY KEY REFERENCES plan (key),
    final        TEXT NOT NULL          -- of a why answer, Yes: biased; of a choice, the letter of its option, "" for
                                        -- none; None: the study took it for no answer at all
) WITHOUT ROWID;
