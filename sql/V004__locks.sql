-- Locks as a service: where fences begin, how high they have been seen, and what operators took away.

-- One row. An epoch is drawn before a marker is set in Redis, above all that were drawn or stood before.
CREATE TABLE IF NOT EXISTS fence_epochs (
    name     VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    epoch    BIGINT      NOT NULL,
    run_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    drawn_at DATETIME(6) NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

INSERT IGNORE INTO fence_epochs (name, epoch) VALUES ('redis', 0);

-- The highest fence a resource has shown (POST /v1/fences/{name}) or a forced release has set.
CREATE TABLE IF NOT EXISTS fence_marks (
    name      VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    highest   BIGINT       NOT NULL,
    raised_at DATETIME(6)  NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Forced releases. Written before the lock is touched; owner and fence once it is known what stood there.
CREATE TABLE IF NOT EXISTS lock_audit (
    id           BIGINT       NOT NULL AUTO_INCREMENT,
    name         VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    action       VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    credential   VARCHAR(64)  NOT NULL,
    reason       VARCHAR(200) NOT NULL,
    request_id   VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    was_held     TINYINT      NULL,
    holder_owner VARCHAR(128) NULL,
    holder_fence BIGINT       NULL,
    fence        BIGINT       NULL,
    requested_at DATETIME(6)  NOT NULL,
    done_at      DATETIME(6)  NULL,
    PRIMARY KEY (id),
    KEY idx_lock_audit_name (name, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Leases of names kept here ("store": "database"). A row is taken, renewed and released by one UPDATE each, with the time
-- of this server; last_… tell the holder before what became of its lease.
CREATE TABLE IF NOT EXISTS lock_leases (
    name        VARCHAR(200)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    fence       BIGINT        NOT NULL,
    holder      CHAR(64)      CHARACTER SET ascii COLLATE ascii_bin NULL,
    grant_id    CHAR(36)      CHARACTER SET ascii COLLATE ascii_bin NULL,
    confirmed   TINYINT       NOT NULL DEFAULT 0,
    owner       VARCHAR(128)  NULL,
    metadata    VARCHAR(2048) NULL,
    taken_at    DATETIME(6)   NULL,
    lease_until DATETIME(6)   NULL,
    used_at     DATETIME(6)   NOT NULL,
    last_holder CHAR(64)      CHARACTER SET ascii COLLATE ascii_bin NULL,
    last_reason VARCHAR(12)   CHARACTER SET ascii COLLATE ascii_bin NULL,
    last_fence  BIGINT        NULL,
    last_at     DATETIME(6)   NULL,
    PRIMARY KEY (name),
    KEY idx_lock_leases_used_at (used_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
