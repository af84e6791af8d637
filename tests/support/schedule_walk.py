"""The part of the contract walk that is about schedules."""

TERMS = {"lockAtMostFor": "PT10M", "lockAtLeastFor": "PT1S", "lockedBy": "walk"}
NOBODY = {"Lock-Token": "0" * 32 + "-86400000"}


class ScheduleWalk:
    """For Walk: self.walk, self.pages."""

    def walk_schedules(self):
        path = "/v1/schedules/walked"
        self.walk(200, "GET", path)
        token = self.walk(201, "PUT", path, TERMS).json["token"]
        holder = {"Lock-Token": token}
        self.walk(423, "PUT", path, TERMS, "SCH-001")
        self.walk(200, "GET", path)
        self.walk(200, "PATCH", path, TERMS, headers=holder)
        self.walk(410, "PATCH", path, TERMS, "SCH-002", headers=NOBODY)
        self.walk(410, "DELETE", path, code="SCH-002", headers=NOBODY)
        self.walk(204, "DELETE", path, headers=holder)
        self.walk(410, "PATCH", path, TERMS, "SCH-002", headers=holder)
        for headers in ({}, {"Lock-Token": "short"}):
            self.walk(400, "DELETE", path, code="SYS-003", headers=headers)
        self.walk(400, "PUT", path, {**TERMS, "lockAtMostFor": "10m"}, "SYS-003")
        self.pages("/v1/schedules")
