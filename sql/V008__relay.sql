-- The relay: who sends which part of the outbox to a sink, how far it has come, and what a sink refused.

-- One row for each sink and part. Columns of a claim: see V007. Everything up to `frontier` was handled for this sink,
-- but for the ids in `holes` ("from-to,from-to"): ids below the frontier that no committed row had when they were passed;
-- a transaction may still bring them. `low` is the last id before all of that. A relay that takes the part goes on from here.
CREATE TABLE IF NOT EXISTS outbox_parts (
    sink        VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    part        SMALLINT       NOT NULL,
    frontier    BIGINT         NOT NULL DEFAULT 0,
    low         BIGINT         NOT NULL DEFAULT 0,
    holes       VARCHAR(12000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    due_at      DATETIME(6)    NULL,
    lease_until DATETIME(6)    NULL,
    owner       VARCHAR(128)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    fence       BIGINT         NOT NULL DEFAULT 0,
    claim_token BINARY(32)     NULL,
    PRIMARY KEY (sink, part),
    KEY idx_outbox_parts_due (sink, due_at, part)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The relays that live: as many share the parts of a sink.
CREATE TABLE IF NOT EXISTS outbox_relays (
    sink       VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    relay      CHAR(36)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    seen_until DATETIME(6) NOT NULL,
    PRIMARY KEY (sink, relay)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Events that a sink did not take, and those behind them with the same aggregate id, which wait. PENDING: sent again
-- from available_at on, the first id of an aggregate first. FAILED: until somebody decides. DISCARDED: decided.
CREATE TABLE IF NOT EXISTS outbox_failures (
    sink         VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    id           BIGINT       NOT NULL,
    part         SMALLINT     NOT NULL,
    aggregate_id VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    status       VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'PENDING',
    attempts     INT          NOT NULL DEFAULT 0,
    available_at DATETIME(6)  NOT NULL,
    error        VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    created_at   DATETIME(6)  NOT NULL,
    PRIMARY KEY (sink, id),
    KEY idx_outbox_failures_key (sink, aggregate_id, id),
    KEY idx_outbox_failures_due (sink, status, available_at),
    KEY idx_outbox_failures_event (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Who replayed or discarded what. `detail` says how many, when it was not one event.
CREATE TABLE IF NOT EXISTS outbox_audit (
    id         BIGINT       NOT NULL AUTO_INCREMENT,
    at         DATETIME(6)  NOT NULL,
    action     VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    event_id   CHAR(36)     CHARACTER SET ascii COLLATE ascii_bin NULL,
    credential VARCHAR(64)  NOT NULL,
    request_id VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    detail     VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Relays read by id. What is left to find by status is found in the order of ids. (In this form because DDL may run
-- again, and MySQL knows no IF EXISTS here.)
SET @relay = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'outbox_events'
                        AND index_name = 'idx_outbox_events_status'),
                'DO 0',
                'ALTER TABLE outbox_events DROP KEY idx_outbox_events_relay, ADD KEY idx_outbox_events_status (status, id)');
PREPARE relay FROM @relay;
EXECUTE relay;
DEALLOCATE PREPARE relay;
