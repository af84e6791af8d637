-- Schedule locks: the table of ShedLock, which services in Java may use beside us. A table found in place is left as it
-- is; what it can bear is looked at on each connection (service/store/shedlock_table.c).
-- DATETIME, not TIMESTAMP: UTC_TIMESTAMP() written to a TIMESTAMP means another moment in every session time zone. No
-- default for locked_at: it would be the local time of the session, and everybody who takes a lock gives a value.
CREATE TABLE IF NOT EXISTS shedlock (
    name       VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lock_until DATETIME(3)  NOT NULL,
    locked_at  DATETIME(3)  NOT NULL,
    locked_by  VARCHAR(255) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
