-- Webhooks, what is to be sent to them, and events of others that could not have their effect.

-- status: ACTIVE, DISABLED (disabled_reason says why), DELETED (until its deliveries are gone). The secret is stored as it
-- is: each attempt is signed with it. event_types is comma-separated; '' = all.
CREATE TABLE IF NOT EXISTS webhooks (
    id              CHAR(36)      CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    url             VARCHAR(2048) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    event_types     VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    secret          VARCHAR(100)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    status          VARCHAR(20)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'ACTIVE',
    disabled_reason VARCHAR(200)  NULL,
    credential      VARCHAR(64)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at      DATETIME(6)   NOT NULL,
    disabled_at     DATETIME(6)   NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- One row an event and webhook. status: HELD (an earlier one of the same webhook and aggregate is not done), PENDING,
-- DELIVERED, FAILED. open_key is the aggregate id while the row is HELD or PENDING, else NULL: the first of an aggregate
-- is found by (webhook_id, open_key, id). Columns of a claim: see V007.
CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id           BIGINT       NOT NULL AUTO_INCREMENT,
    webhook_id   CHAR(36)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    event_id     CHAR(36)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    event_type   VARCHAR(50)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    aggregate_id VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    open_key     VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    body         MEDIUMTEXT   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    traceparent  VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NULL,
    status       VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempts     INT          NOT NULL DEFAULT 0,
    last_status  SMALLINT     NULL,
    last_error   VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    created_at   DATETIME(6)  NOT NULL,
    attempted_at DATETIME(6)  NULL,
    done_at      DATETIME(6)  NULL,
    due_at       DATETIME(6)  NULL,
    lease_until  DATETIME(6)  NULL,
    owner        VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    fence        BIGINT       NOT NULL DEFAULT 0,
    claim_token  BINARY(32)   NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_webhook_deliveries_event (webhook_id, event_id),
    KEY idx_webhook_deliveries_due (webhook_id, due_at, id),
    KEY idx_webhook_deliveries_open (webhook_id, open_key, id),
    KEY idx_webhook_deliveries_status (status, done_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- status: OPEN, REPLAYED, DISCARDED. position says where the message stood ("kafka:topic/3@1234"): one that is read again
-- before its offset is committed is not written twice. payload is what came, byte for byte; it need not be text.
CREATE TABLE IF NOT EXISTS dead_letters (
    id             BIGINT       NOT NULL AUTO_INCREMENT,
    topic          VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    consumer_group VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    position       VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    event_id       VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    error          VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    payload        MEDIUMBLOB   NOT NULL,
    traceparent    VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NULL,
    status         VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'OPEN',
    created_at     DATETIME(6)  NOT NULL,
    settled_at     DATETIME(6)  NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_dead_letters_position (consumer_group, position),
    KEY idx_dead_letters_status (status, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Who replayed or discarded what, and what came of it.
CREATE TABLE IF NOT EXISTS dead_letter_audit (
    id             BIGINT       NOT NULL AUTO_INCREMENT,
    dead_letter_id BIGINT       NOT NULL,
    action         VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    outcome        VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    credential     VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    request_id     VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    at             DATETIME(6)  NOT NULL,
    PRIMARY KEY (id),
    KEY idx_dead_letter_audit_letter (dead_letter_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
