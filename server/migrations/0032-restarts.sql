-- An app is restarted by a deployment that starts the live build again.
alter table svc.deployments drop constraint deployments_kind_check;
alter table svc.deployments add constraint deployments_kind_check
  check (kind in ('deploy', 'rollback', 'resume', 'restart'));
