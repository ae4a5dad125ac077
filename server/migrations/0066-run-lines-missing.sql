-- Lines of the output of a run that are not in its log, because of its limit.
alter table svc.app_runs add column lines_missing integer not null default 0;
