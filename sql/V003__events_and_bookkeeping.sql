-- The outbox, the answers of idempotent requests, and the blocks ids are drawn from.

-- Ids are drawn while the aggregate's row is locked: per aggregate, id order is commit order. A relay reads
-- (status, part, id); part = CRC32(aggregate_id) % 64.
CREATE TABLE IF NOT EXISTS outbox_events (
    id                BIGINT      NOT NULL AUTO_INCREMENT,
    event_id          CHAR(36)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    aggregate_type    VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    aggregate_id      VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    aggregate_version BIGINT      NOT NULL DEFAULT 0,
    event_type        VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    payload           MEDIUMTEXT  NOT NULL,
    part              SMALLINT    NOT NULL DEFAULT 0,
    status            VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'PENDING',
    retry_count       INT         NOT NULL DEFAULT 0,
    available_at      DATETIME(6) NULL,
    created_at        DATETIME(6) NOT NULL,
    published_at      DATETIME(6) NULL,
    trace_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_outbox_events_event_id (event_id),
    KEY idx_outbox_events_relay (status, part, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS idempotency_keys (
    key_hash    BINARY(32)  NOT NULL,
    fingerprint BINARY(32)  NOT NULL,
    status      SMALLINT    NOT NULL,
    body        MEDIUMTEXT  NOT NULL,
    location    VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL,
    etag        VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NULL,
    created_at  DATETIME(6) NOT NULL,
    PRIMARY KEY (key_hash),
    KEY idx_idempotency_keys_created (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS id_blocks (
    name    VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    next_id BIGINT      NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

INSERT IGNORE INTO id_blocks (name, next_id) VALUES ('orders', 1);
