-- Whether all lines of the build log are stored. Lines are stored in batches, the last one after the deployment ended.
alter table svc.deployments add column is_log_complete boolean not null default false;
update svc.deployments set is_log_complete = true where ended_at is not null;
