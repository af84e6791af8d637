-- Locks: leases in the database whose fences lie above those Redis gives now are found without a look at all others.
SET @statement = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE()
    AND table_name = 'lock_leases' AND index_name = 'idx_lock_leases_fence') > 0, 'DO 0',
    'ALTER TABLE lock_leases ADD KEY idx_lock_leases_fence (fence)');
PREPARE alter_lock_leases FROM @statement;
EXECUTE alter_lock_leases;
DEALLOCATE PREPARE alter_lock_leases;
