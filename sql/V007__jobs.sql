-- Queues of jobs, and what claims a row.

-- The columns of a claim, alike in every table whose rows are claimed (service/store/claims.h):
--   due_at       from when the row may be claimed; while it is claimed, the end of the lease; NULL = never
--   lease_until  the end of the lease; NULL = not claimed
--   owner        who holds the claim, or held the last
--   fence        how often the row was claimed
--   claim_token  SHA-256 of the token of the last claim
-- idx_jobs_due gives the candidates of a queue in their order, so that a claim locks no more rows than it takes.
CREATE TABLE IF NOT EXISTS jobs (
    id           BIGINT        NOT NULL AUTO_INCREMENT,
    queue        VARCHAR(200)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    status       VARCHAR(7)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'READY',
    payload      MEDIUMTEXT    CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    dedupe_key   VARCHAR(200)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    attempts     INT           NOT NULL DEFAULT 0,
    max_attempts INT           NOT NULL,
    last_result  VARCHAR(1000) NULL,
    created_at   DATETIME(6)   NOT NULL,
    done_at      DATETIME(6)   NULL,
    due_at       DATETIME(6)   NULL,
    lease_until  DATETIME(6)   NULL,
    owner        VARCHAR(128)  NULL,
    fence        BIGINT        NOT NULL DEFAULT 0,
    claim_token  BINARY(32)    NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_jobs_dedupe (queue, dedupe_key),
    KEY idx_jobs_due (queue, due_at, id),
    KEY idx_jobs_status (status, queue, id),
    KEY idx_jobs_done (done_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
