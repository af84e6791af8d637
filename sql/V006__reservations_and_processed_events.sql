-- Stock held for services that keep their own orders, and the events of others that have had their effect.

-- One row an order of a credential, for ever: a second reserve, and a reserve behind its release, find it. items is a JSON
-- array of {productId, quantity}, sorted by product, and never changes once stock was taken. A credential is compared byte
-- by byte, blanks at its end included.
CREATE TABLE IF NOT EXISTS stock_reservations (
    id           BIGINT      NOT NULL AUTO_INCREMENT,
    credential   VARBINARY(64) NOT NULL,
    order_id     VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    status       VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    items        TEXT        NULL,
    reason       VARCHAR(200) NULL,
    version      BIGINT      NOT NULL DEFAULT 0,
    reserved_at  DATETIME(6) NULL,
    expires_at   DATETIME(6) NULL,
    confirmed_at DATETIME(6) NULL,
    released_at  DATETIME(6) NULL,
    created_at   DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_stock_reservation_order (credential, order_id),
    KEY idx_stock_reservations_lease (status, expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Written in the transaction of the effect: a second delivery meets the primary key. Old rows go by processed_at.
CREATE TABLE IF NOT EXISTS processed_events (
    event_id       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    consumer_group VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    processed_at   DATETIME(6)  NOT NULL,
    PRIMARY KEY (event_id, consumer_group),
    KEY idx_processed_events_processed (processed_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- orderTimeoutCancelJob reads by it. No server of both kinds knows CREATE INDEX IF NOT EXISTS.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.statistics WHERE table_schema = DATABASE()
    AND table_name = 'orders' AND index_name = 'idx_orders_payment');
SET @sql = IF(@missing, 'CREATE INDEX idx_orders_payment ON orders (status, payment_requested_at)', 'DO 0');
PREPARE lockstock_migration FROM @sql;
EXECUTE lockstock_migration;
DEALLOCATE PREPARE lockstock_migration;

-- The path of a reservation: its order id has 64 bytes, each three when percent-encoded.
ALTER TABLE idempotency_keys MODIFY location VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL;
