-- Orders, their immutable lines, payments and what has to be made good.

-- Ids come from id_blocks: known before the insert.
CREATE TABLE IF NOT EXISTS orders (
    id                   BIGINT      NOT NULL,
    order_number         VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id              VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    total_amount         BIGINT      NOT NULL,
    status               VARCHAR(30) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ordered_at           DATETIME(6) NOT NULL,
    expires_at           DATETIME(6) NOT NULL,
    payment_requested_at DATETIME(6) NULL,
    version              BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY uk_orders_order_number (order_number),
    KEY idx_orders_user (user_id, id),
    KEY idx_orders_expiry (status, expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS order_items (
    order_id   BIGINT NOT NULL,
    line_no    INT    NOT NULL,
    product_id BIGINT NOT NULL,
    quantity   BIGINT NOT NULL,
    unit_price BIGINT NOT NULL,
    PRIMARY KEY (order_id, line_no)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS payments (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    order_id    BIGINT       NOT NULL,
    payment_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    amount      BIGINT       NOT NULL,
    status      VARCHAR(30)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at  DATETIME(6)  NOT NULL,
    version     BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY uk_payments_payment_key (payment_key),
    KEY idx_payments_order (order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS order_compensations (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    order_id    BIGINT       NOT NULL,
    reason      VARCHAR(40)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    status      VARCHAR(20)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'OPEN',
    payment_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    amount      BIGINT       NOT NULL DEFAULT 0,
    detail      VARCHAR(500) NULL,
    detected_at DATETIME(6)  NOT NULL,
    resolved_at DATETIME(6)  NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_order_compensations (order_id, reason, payment_key),
    KEY idx_order_compensations_status (status, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
