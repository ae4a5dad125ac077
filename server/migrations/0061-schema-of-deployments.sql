-- Whether a deployment may drop something or lose values of rows, and the steps that undo what it has changed in the tables.
alter table svc.deployments add column table_changes jsonb;
