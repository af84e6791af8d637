-- Locks: everything a token holds in the database, found by its holder; and a loss it has not been told of yet. A statement
-- that has been done is not done again: MySQL has no ADD COLUMN IF NOT EXISTS.
SET @statement = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
    AND table_name = 'lock_leases' AND column_name = 'last_told') > 0, 'DO 0',
    'ALTER TABLE lock_leases ADD COLUMN last_told TINYINT NOT NULL DEFAULT 0,
     ADD KEY idx_lock_leases_holder (holder), ADD KEY idx_lock_leases_last_holder (last_holder, last_told)');
PREPARE alter_lock_leases FROM @statement;
EXECUTE alter_lock_leases;
DEALLOCATE PREPARE alter_lock_leases;
