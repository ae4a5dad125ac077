-- What a review approved of `data_scopes`. Visitors get what is in both.
alter table svc.apps add column approved_data_scopes text[] not null default '{}';

-- What the app requested, and what was approved, when the request was made.
alter table svc.publication_requests
  add column data_scopes text[] not null default '{}',
  add column data_scopes_before text[] not null default '{}';

create or replace view svc.reviews as
  select id, tenant_id, app_id, case pinned when 'built' then 'deployment' else 'publication' end as kind, status,
    visibility, visibility_before, pinned, deployment_id, release_id, digest, note, requested_by, requested_at,
    expires_at, decided_by, decided_at, reason, data_scopes, data_scopes_before
  from svc.publication_requests
  union all
  select p.id, p.tenant_id, p.app_id, 'promotion',
    case p.status when 'stale' then 'superseded' when 'canceled' then 'withdrawn' else p.status end,
    a.visibility, a.visibility, 'staged', r.deployment_id, p.release_id, p.digest, p.note, p.requested_by,
    p.requested_at, null, p.decided_by, p.decided_at, p.reason, '{}', '{}'
  from svc.static_promotions p
  join svc.static_releases r on r.id = p.release_id
  join svc.apps a on a.id = p.app_id;
