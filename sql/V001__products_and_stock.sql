-- Products, their stock, and the ledger that explains the stock.
-- Rules of this folder: forward only; each file works with the program version before it; the same SQL on MySQL 8.0+ and
-- MariaDB 10.6+; a statement ends with a semicolon at the end of a line; every statement may be run again (IF NOT EXISTS),
-- because DDL commits by itself and a migration can stop half way.
-- No foreign keys: each insert would lock its parent row for the rest of the transaction, and trains write in an order of
-- their own. The audit checks what a foreign key would.

CREATE TABLE IF NOT EXISTS products (
    id         BIGINT       NOT NULL,
    name       VARCHAR(255) NOT NULL,
    price      BIGINT       NOT NULL,
    status     VARCHAR(20)  NOT NULL DEFAULT 'ON_SALE',
    version    BIGINT       NOT NULL DEFAULT 0,
    created_at DATETIME(6)  NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    updated_at DATETIME(6)  NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- ledger_stock and ledger_version: the row as our last movement left it; NULL = we have not moved it yet. A version other
-- than ledger_version says that a foreign writer was here, without a look at the ledger.
CREATE TABLE IF NOT EXISTS inventories (
    id             BIGINT      NOT NULL AUTO_INCREMENT,
    product_id     BIGINT      NOT NULL,
    stock          BIGINT      NOT NULL,
    version        BIGINT      NOT NULL DEFAULT 0,
    ledger_stock   BIGINT      NULL,
    ledger_version BIGINT      NULL,
    updated_at     DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (id),
    UNIQUE KEY uk_inventories_product_id (product_id),
    CONSTRAINT ck_inventories_stock CHECK (stock >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Never deleted. Ids are drawn while the stock row is locked: per product, id order is commit order.
CREATE TABLE IF NOT EXISTS stock_movements (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    product_id  BIGINT       NOT NULL,
    kind        VARCHAR(10)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    delta       BIGINT       NOT NULL,
    stock_after BIGINT       NOT NULL,
    version     BIGINT       NOT NULL,
    order_ref   VARCHAR(143) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    line_no     INT          NOT NULL DEFAULT 0,
    reason      VARCHAR(200) NULL,
    at          DATETIME(6)  NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_stock_movements_ref (order_ref, line_no, kind),
    KEY idx_stock_movements_product (product_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
