-- Which deployments of apps that other people see need a review before they go live.

alter table svc.tenants add column review_deployments text not null default 'internet'
  check (review_deployments in ('internet', 'all', 'off'));

-- The widest visibility at which the build was live or approved; null: none.
alter table svc.deployments add column reviewed_visibility text
  check (reviewed_visibility in ('private', 'invite_only', 'public', 'internet'));
update svc.deployments d set reviewed_visibility = a.visibility from svc.apps a where a.live_deployment_id = d.id;

-- `built`: a deployment that goes live by the approval.
alter table svc.publication_requests drop constraint publication_requests_pinned_check;
alter table svc.publication_requests add check (pinned in ('live', 'staged', 'built'));
